//! Stores the last bytes of a child process's output. One thread per stream reads until the stream ends.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::kept_log::KeptLog;
use crate::output::MAX_MESSAGE_BYTES;

/// Number of bytes to store. They fit in one warning together with the first line of its message.
const TAIL_BYTES: usize = MAX_MESSAGE_BYTES - 256;
/// Time to wait for the end of a stream after its process has exited, because a descendant may still have it open.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// Collects the last bytes of several streams, combined in the order in which they are read.
#[derive(Debug)]
pub struct Tail {
    buffer: Arc<Mutex<TailBuffer>>,
    ended: Receiver<()>,
    sender: Option<Sender<()>>,
    /// File that gets all output; `None` if only the tail is stored.
    log: Option<Arc<Mutex<KeptLog>>>,
}

#[derive(Debug, Default)]
struct TailBuffer {
    bytes: VecDeque<u8>,
    omitted: u64,
}

impl Tail {
    /// Creates an empty tail. All output is also appended to `log`, if there is one.
    pub fn new(log: Option<KeptLog>) -> Self {
        let (sender, ended) = channel();
        Self {
            buffer: Arc::default(),
            ended,
            sender: Some(sender),
            log: log.map(|log| Arc::new(Mutex::new(log))),
        }
    }

    /// Starts a thread that reads `stream` until it ends.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn drain(&mut self, mut stream: impl Read + Send + 'static) -> io::Result<()> {
        let buffer = Arc::clone(&self.buffer);
        let sender = self.sender.clone();
        let log = self.log.clone();
        let drain = move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut chunk) {
                if let Some(log) = &log {
                    log.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .append(&chunk[..count]);
                }
                buffer
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(&chunk[..count]);
            }
            drop(sender);
        };
        thread::Builder::new().name("output".into()).spawn(drain)?;
        Ok(())
    }

    /// Returns the last output of the process, which must have exited. If earlier output was omitted, the first line
    /// shows its size. The result is empty if the process printed nothing.
    pub fn finish(mut self) -> String {
        // No message is ever sent: the channel closes when the last reader thread drops its sender.
        self.sender = None;
        let _ = self.ended.recv_timeout(END_TIMEOUT);
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(buffer.bytes.make_contiguous())
            .trim()
            .to_owned();
        match buffer.omitted {
            0 => text,
            omitted => format!("[{omitted} earlier bytes omitted]\n{text}"),
        }
    }
}

impl TailBuffer {
    fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend(chunk);
        let surplus = self.bytes.len().saturating_sub(TAIL_BYTES);
        self.bytes.drain(..surplus);
        self.omitted += surplus as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_bytes_and_counts_the_omitted_bytes() {
        let mut tail = Tail::new(None);
        let text = format!("{}the end\n", "x".repeat(100_000));
        tail.drain(io::Cursor::new(text)).unwrap();
        let text = tail.finish();
        assert!(
            text.starts_with("[96168 earlier bytes omitted]\nxxx"),
            "{}",
            &text[..40]
        );
        assert!(text.ends_with("xthe end"));
    }

    #[test]
    fn a_silent_process_has_an_empty_tail() {
        let mut tail = Tail::new(None);
        tail.drain(io::empty()).unwrap();
        assert_eq!(tail.finish(), "");
    }
}
