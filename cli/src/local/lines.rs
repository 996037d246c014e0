//! Lines of bounded length from the output of a worker. Performs I/O.

use std::io::{BufRead, Read};

/// Returns the next line without its newline, or `None` at the end of the input or on a read error.
///
/// A line of more than `limit` bytes is split after `limit + 1` bytes.
pub(crate) fn bounded_line(reader: &mut impl BufRead, limit: usize) -> Option<String> {
    let mut line = Vec::new();
    let read = reader
        .by_ref()
        .take(limit as u64 + 1)
        .read_until(b'\n', &mut line)
        .ok()?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    (read > 0).then(|| String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn splits_long_lines() {
        let mut reader = BufReader::new(&b"abcdef\ngh"[..]);
        let mut lines = Vec::new();
        while let Some(line) = bounded_line(&mut reader, 3) {
            lines.push(line);
        }
        assert_eq!(lines, ["abcd", "ef", "gh"]);
    }
}
