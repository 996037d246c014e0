//! Splits a pod's log into lines. The image of the pod decides what the log contains: lines without end and bytes that are
//! no text included. Performs I/O.

use std::io;
use std::pin::pin;

use campaign::collect::framing::{Framing, RawLine};
use crds::record::MAX_LINE_BYTES;
use futures::{AsyncRead, AsyncReadExt};

/// Read size, in bytes.
const CHUNK: usize = 16 * 1024;

/// Calls `print` with each line of `log` as soon as it is complete. A longer line than a record is replaced by a remark, and
/// bytes that are not UTF-8 by U+FFFD.
///
/// # Errors
/// Returns an error if the log cannot be read or `print` fails.
pub(super) async fn for_each_line(
    log: impl AsyncRead,
    mut print: impl FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let mut log = pin!(log);
    let mut framing = Framing::default();
    let mut chunk = vec![0; CHUNK];
    let mut lines = Vec::new();
    loop {
        let count = log.read(&mut chunk).await?;
        match chunk.get(..count).filter(|read| !read.is_empty()) {
            Some(read) => framing.feed(read, |line| lines.push(text(line))),
            None => framing.rest(|line| lines.push(text(line))),
        }
        for line in lines.drain(..) {
            print(&line)?;
        }
        if count == 0 {
            return Ok(());
        }
    }
}

fn text(line: RawLine<'_>) -> String {
    match line {
        RawLine::Whole(line) => String::from_utf8_lossy(line).trim_end_matches('\r').to_owned(),
        RawLine::TooLong => format!("(a line of more than {MAX_LINE_BYTES} bytes)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(log: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let print = |line: &str| {
            lines.push(line.to_owned());
            Ok(())
        };
        for_each_line(log, print).await.unwrap();
        lines
    }

    #[tokio::test]
    async fn hostile_lines_are_bounded_and_do_not_end_the_command() {
        let endless = vec![b'x'; 100 * MAX_LINE_BYTES];
        let log = [&b"first\r\nnot \xff text\n"[..], &endless, b"\nlast"].concat();
        assert_eq!(
            lines(&log).await,
            [
                "first",
                "not \u{fffd} text",
                "(a line of more than 16384 bytes)",
                "last"
            ]
        );
        assert_eq!(lines(&endless).await, ["(a line of more than 16384 bytes)"]);
        assert_eq!(lines(b"").await, [""; 0]);
    }

    #[tokio::test]
    async fn an_output_that_is_closed_is_an_error() {
        let closed = for_each_line(&b"a\nb\n"[..], |_| Err(io::ErrorKind::BrokenPipe.into())).await;
        assert_eq!(closed.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
