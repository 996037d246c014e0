//! Refuses clients while a server measures with another client, so that they learn why they have to wait. Uses TCP and a
//! thread.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::frame;
use crate::rendezvous::proposal;

/// Interval at which the end of the session is checked.
const TICK: Duration = Duration::from_millis(50);

/// Refuses clients until it is dropped.
pub(super) struct BusyServer {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl BusyServer {
    /// Starts to refuse the clients of `listener`, because the session with the client at `address` is in progress.
    ///
    /// # Errors
    /// Returns an error if the listener cannot be shared or the thread cannot be started.
    pub(super) fn start(listener: &TcpListener, address: &str) -> io::Result<Self> {
        let listener = listener.try_clone()?;
        let address = address.to_owned();
        let ended = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ended);
        let refuse = move || {
            while !until.load(Ordering::Relaxed) {
                if !frame::wait_until_readable(&listener, Instant::now() + TICK).unwrap_or(false) {
                    continue;
                }
                let Ok((stream, _)) = listener.accept() else {
                    continue;
                };
                if stream.set_nonblocking(false).is_ok() {
                    proposal::refuse_busy(stream, &address);
                }
            }
        };
        let thread = thread::Builder::new().name("busy".into()).spawn(refuse)?;
        Ok(Self {
            ended,
            thread: Some(thread),
        })
    }
}

impl Drop for BusyServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread does not panic. If it did, no client would be refused.
            let _ = thread.join();
        }
    }
}
