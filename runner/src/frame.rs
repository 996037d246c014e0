//! Messages between processes: one JSON document per line, with limits on length and time. Performs I/O on the given
//! streams.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use snafu::{ResultExt, Snafu, ensure};

const CHUNK_BYTES: usize = 64 * 1024;

/// Error reading or writing a message.
#[derive(Debug, Snafu)]
pub enum FrameError {
    /// The peer closed the stream.
    #[snafu(display("the peer closed the connection"))]
    Closed,
    /// The line exceeds the limit.
    #[snafu(display("a message exceeds the limit of {max} bytes"))]
    TooLong {
        /// Limit in bytes.
        max: usize,
    },
    /// No complete line arrived in time.
    #[snafu(display("no complete message arrived in time"))]
    TooSlow,
    /// The stream failed.
    #[snafu(display("connection error: {source}"))]
    Broken {
        /// Error returned by the system call.
        source: io::Error,
    },
    /// The line is not a valid message, or the message cannot be serialized. The parser's words are only in the source.
    #[snafu(display("the message does not have the expected form"))]
    Syntax {
        /// Error returned by the JSON parser or serializer.
        source: serde_json::Error,
    },
}

/// Reads lines from a stream that another process writes to.
#[derive(Debug)]
pub struct FrameReader<S> {
    stream: S,
    pending: Vec<u8>,
    /// Length of the prefix of `pending` that is known to contain no line feed.
    searched: usize,
}

impl<S: Read + AsFd> FrameReader<S> {
    /// Creates a reader of `stream`.
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            pending: Vec::new(),
            searched: 0,
        }
    }

    /// The underlying stream. The reader may have read more data from it than it has returned.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Whether a complete line has been read from the stream but not yet returned.
    pub fn has_line(&self) -> bool {
        self.pending.contains(&b'\n')
    }

    /// Reads the next line and returns it without the line feed.
    ///
    /// The line can be at most `max` bytes long. If `deadline` is `None`, the call waits indefinitely.
    ///
    /// # Errors
    /// Returns an error if the stream ends or fails, the line is too long, or no complete line arrives before
    /// `deadline`.
    pub fn read(&mut self, max: usize, deadline: Option<Instant>) -> Result<Vec<u8>, FrameError> {
        loop {
            let end = self.pending[self.searched..]
                .iter()
                .position(|byte| *byte == b'\n');
            if let Some(end) = end.map(|offset| self.searched + offset) {
                ensure!(end <= max, TooLongSnafu { max });
                let rest = self.pending.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.pending, rest);
                line.pop();
                self.searched = 0;
                return Ok(line);
            }
            self.searched = self.pending.len();
            ensure!(self.pending.len() <= max, TooLongSnafu { max });
            self.fill(deadline)?;
        }
    }

    fn fill(&mut self, deadline: Option<Instant>) -> Result<(), FrameError> {
        if let Some(deadline) = deadline {
            ensure!(wait_until_readable(&self.stream, deadline)?, TooSlowSnafu);
        }
        let length = self.pending.len();
        self.pending.resize(length + CHUNK_BYTES, 0);
        let result = self.stream.read(&mut self.pending[length..]);
        self.pending.truncate(length + *result.as_ref().unwrap_or(&0));
        match result {
            Ok(0) => ClosedSnafu.fail(),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => ClosedSnafu.fail(),
            Err(source) => Err(FrameError::Broken { source }),
        }
    }
}

/// Waits until `stream` is readable or has ended. Returns `false` if the deadline passes first.
///
/// # Errors
/// Returns an error if the system cannot poll the stream.
pub fn wait_until_readable(stream: &impl AsFd, deadline: Instant) -> Result<bool, FrameError> {
    loop {
        let remaining = deadline.saturating_duration_since(Instant::now());
        let remaining = Timespec::try_from(remaining.min(Duration::from_secs(3600))).unwrap_or(Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        });
        match poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&remaining)) {
            Ok(0) if deadline <= Instant::now() => return Ok(false),
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(io::Error::from(error)).context(BrokenSnafu),
        }
    }
}

/// Writes `message` as one line.
///
/// # Errors
/// Returns an error if the message is longer than `max` bytes or cannot be serialized, or the stream fails.
pub fn write(stream: &mut impl Write, message: &impl Serialize, max: usize) -> Result<(), FrameError> {
    let mut line = serde_json::to_vec(message).context(SyntaxSnafu)?;
    ensure!(line.len() <= max, TooLongSnafu { max });
    line.push(b'\n');
    stream.write_all(&line).context(BrokenSnafu)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn soon() -> Option<Instant> {
        Some(Instant::now() + Duration::from_millis(50))
    }

    #[test]
    fn splits_the_stream_into_lines() {
        let (mut sender, receiver) = UnixStream::pair().unwrap();
        let mut reader = FrameReader::new(receiver);
        sender.write_all(b"one\ntwo\nthr").unwrap();
        assert_eq!(reader.read(8, soon()).unwrap(), b"one");
        assert_eq!(reader.read(8, soon()).unwrap(), b"two");
        assert!(matches!(reader.read(8, soon()), Err(FrameError::TooSlow)));
        sender.write_all(b"ee\n").unwrap();
        assert_eq!(reader.read(8, soon()).unwrap(), b"three");
        drop(sender);
        assert!(matches!(reader.read(8, None), Err(FrameError::Closed)));
    }

    #[test]
    fn rejects_a_line_above_the_limit() {
        let (mut sender, receiver) = UnixStream::pair().unwrap();
        let mut reader = FrameReader::new(receiver);
        sender.write_all(&[b'x'; 100]).unwrap();
        assert!(matches!(
            reader.read(64, soon()),
            Err(FrameError::TooLong { max: 64 })
        ));
    }

    #[test]
    fn does_not_send_a_message_above_the_limit() {
        let error = write(&mut Vec::new(), &"x".repeat(100), 64).unwrap_err();
        assert!(matches!(error, FrameError::TooLong { max: 64 }));
    }
}
