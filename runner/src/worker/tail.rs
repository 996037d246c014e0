//! The last bytes of what a child process prints. One thread for each stream, until the stream ends.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::output::MAX_MESSAGE_BYTES;

/// Bytes kept: what fits one warning of the record stream with room for its first line.
const TAIL_BYTES: usize = MAX_MESSAGE_BYTES - 256;
/// How long the end of a stream is waited for once its process has ended: a descendant may hold it open.
const END_WAIT: Duration = Duration::from_millis(500);

/// Collects the tail of several streams together, in the order in which they are read.
#[derive(Debug)]
pub struct Tail {
    kept: Arc<Mutex<Kept>>,
    ended: Receiver<()>,
    sender: Option<Sender<()>>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    left_out: u64,
}

impl Tail {
    /// A tail of nothing yet.
    pub fn new() -> Self {
        let (sender, ended) = channel();
        Self {
            kept: Arc::default(),
            ended,
            sender: Some(sender),
        }
    }

    /// Drains `stream` to its end.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn drain(&mut self, mut stream: impl Read + Send + 'static) -> io::Result<()> {
        let kept = Arc::clone(&self.kept);
        let sender = self.sender.clone();
        let drain = move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut chunk) {
                kept.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(&chunk[..count]);
            }
            drop(sender);
        };
        thread::Builder::new().name("output".into()).spawn(drain)?;
        Ok(())
    }

    /// What was printed last, after the process has ended; a mark says how much came before. Empty where nothing was.
    pub fn finish(mut self) -> String {
        // No message ever comes: the wait ends when the last drain has dropped its sender.
        self.sender = None;
        let _ = self.ended.recv_timeout(END_WAIT);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(kept.bytes.make_contiguous())
            .trim()
            .to_owned();
        match kept.left_out {
            0 => text,
            left_out => format!("[{left_out} bytes before]\n{text}"),
        }
    }
}

impl Kept {
    fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend(chunk);
        let surplus = self.bytes.len().saturating_sub(TAIL_BYTES);
        self.bytes.drain(..surplus);
        self.left_out += surplus as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_the_rest_counted() {
        let mut tail = Tail::new();
        let text = format!("{}the end\n", "x".repeat(100_000));
        tail.drain(io::Cursor::new(text)).unwrap();
        let text = tail.finish();
        assert!(text.starts_with("[96168 bytes before]\nxxx"), "{}", &text[..40]);
        assert!(text.ends_with("xthe end"));
    }

    #[test]
    fn a_silent_process_has_no_tail() {
        let mut tail = Tail::new();
        tail.drain(io::empty()).unwrap();
        assert_eq!(tail.finish(), "");
    }
}
