//! Collects a command's output, up to a limit, with one thread for each of its two streams. Output beyond the limit is
//! read and discarded, so that the command does not block. Performs I/O.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use command_output::MAX_OUTPUT_BYTES;

/// Collected output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Standard output, followed by standard error.
    pub text: String,
    /// Length of the standard output in `text`, in bytes.
    stdout_bytes: usize,
    /// Whether a stream exceeded the limit.
    pub is_truncated: bool,
}

impl Output {
    /// Standard output.
    pub fn stdout(&self) -> &str {
        self.text.get(..self.stdout_bytes).unwrap_or_default()
    }

    /// Standard error.
    pub fn stderr(&self) -> &str {
        self.text.get(self.stdout_bytes..).unwrap_or_default()
    }
}

/// Stream that is being collected.
pub(super) struct Stream {
    collected: Arc<Mutex<CollectedBytes>>,
    thread: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct CollectedBytes {
    bytes: Vec<u8>,
    is_truncated: bool,
}

impl Stream {
    /// Collects `stream` until it ends.
    pub(super) fn collect(mut stream: impl Read + Send + 'static) -> io::Result<Self> {
        let collected = Arc::new(Mutex::new(CollectedBytes::default()));
        let shared = Arc::clone(&collected);
        let collect = move || {
            let mut chunk = [0; 4096];
            loop {
                match stream.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(count) => add(&shared, &chunk[..count]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        };
        Ok(Self {
            collected,
            thread: thread::Builder::new().name("output".into()).spawn(collect)?,
        })
    }

    /// Whether the stream has ended, so that nothing more will be collected.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

fn add(shared: &Mutex<CollectedBytes>, bytes: &[u8]) {
    let mut collected = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let room = MAX_OUTPUT_BYTES - collected.bytes.len();
    collected.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    collected.is_truncated |= bytes.len() > room;
}

/// Returns what has been collected from `streams` so far. The first stream is the standard output.
pub(super) fn collected_output(streams: &[Stream]) -> Output {
    let mut output = Output::default();
    for (index, stream) in streams.iter().enumerate() {
        let collected = stream.collected.lock().unwrap_or_else(PoisonError::into_inner);
        output.text.push_str(&String::from_utf8_lossy(&collected.bytes));
        if !output.text.is_empty() && !output.text.ends_with('\n') {
            output.text.push('\n');
        }
        if index == 0 {
            output.stdout_bytes = output.text.len();
        }
        output.is_truncated |= collected.is_truncated;
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_joined_and_bounded() {
        let collect = |bytes: Vec<u8>| Stream::collect(io::Cursor::new(bytes)).unwrap();
        let streams = [collect(b"out".to_vec()), collect(b"err\xff\n".to_vec())];
        while !streams.iter().all(Stream::has_ended) {
            thread::yield_now();
        }
        let output = collected_output(&streams);
        assert_eq!(output.text, "out\nerr\u{fffd}\n");
        assert_eq!((output.stdout(), output.stderr()), ("out\n", "err\u{fffd}\n"));
        assert!(!collected_output(&streams).is_truncated);
        let long = [collect(vec![b'x'; MAX_OUTPUT_BYTES + 1])];
        while !long[0].has_ended() {
            thread::yield_now();
        }
        assert_eq!(
            collected_output(&long).text.len(),
            MAX_OUTPUT_BYTES + 1,
            "and a line feed"
        );
        assert!(collected_output(&long).is_truncated);
    }
}
