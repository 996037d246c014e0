//! Handles SIGINT (Ctrl-C) and SIGTERM for the whole command. Performs I/O: installs handlers for both signals.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};

use super::event::Event;

/// Records whether this process has received SIGINT or SIGTERM. While this value exists, the signals do not terminate
/// the process.
#[derive(Debug)]
pub(crate) struct Interrupt {
    signaled: Arc<AtomicBool>,
    gang: Arc<Mutex<Option<SyncSender<Event>>>>,
    handle: Handle,
    listener: Option<JoinHandle<()>>,
}

impl Interrupt {
    /// Installs the signal handlers.
    ///
    /// # Errors
    /// Returns an error if a handler cannot be installed.
    pub(crate) fn listen() -> io::Result<Self> {
        let signaled = Arc::new(AtomicBool::new(false));
        // The signal handler itself sets the flag, so the flag is set even before the listener thread runs.
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&signaled))?;
        }
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let handle = signals.handle();
        let gang: Arc<Mutex<Option<SyncSender<Event>>>> = Arc::default();
        let listening = Arc::clone(&gang);
        let listener = thread::spawn(move || {
            for _ in signals.forever() {
                let gang = listening.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // The send fails if the gang was just dropped. The flag is set in either case.
                if let Some(gang) = gang {
                    let _ = gang.send(Event::Interrupted);
                }
            }
        });
        Ok(Self {
            signaled,
            gang,
            handle,
            listener: Some(listener),
        })
    }

    /// Whether a signal was received.
    pub(crate) fn is_signaled(&self) -> bool {
        self.signaled.load(Ordering::SeqCst)
    }

    /// Forwards subsequent signals to `gang`, until the next call.
    pub(super) fn forward_to(&self, gang: Option<SyncSender<Event>>) {
        *self.gang.lock().unwrap_or_else(PoisonError::into_inner) = gang;
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(listener) = self.listener.take() {
            // A panic in the listener thread can be ignored during shutdown.
            let _ = listener.join();
        }
    }
}
