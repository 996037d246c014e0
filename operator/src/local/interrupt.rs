//! Ctrl-C and SIGTERM, heard from the first folder to the last report. I/O: takes over both signals.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::{Handle, Signals};

use super::gang::Event;

/// Whether this program was told to stop. While it lives, the signals end nothing by themselves.
#[derive(Debug)]
pub struct Interrupt {
    told: Arc<AtomicBool>,
    gang: Arc<Mutex<Option<SyncSender<Event>>>>,
    handle: Handle,
    listener: Option<JoinHandle<()>>,
}

impl Interrupt {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen() -> io::Result<Self> {
        let told = Arc::new(AtomicBool::new(false));
        // Set within the handler: whoever looks after the signal came sees it, whatever the listener does.
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&told))?;
        }
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let handle = signals.handle();
        let gang: Arc<Mutex<Option<SyncSender<Event>>>> = Arc::default();
        let listening = Arc::clone(&gang);
        let listener = thread::spawn(move || {
            for _ in signals.forever() {
                let gang = listening.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // A gang that is gone a moment ago needs no word; the flag is set.
                if let Some(gang) = gang {
                    let _ = gang.send(Event::Interrupted);
                }
            }
        });
        Ok(Self {
            told,
            gang,
            handle,
            listener: Some(listener),
        })
    }

    /// Whether a signal came.
    pub fn told(&self) -> bool {
        self.told.load(Ordering::SeqCst)
    }

    /// Signals that come from now on are told to `gang` too, until the next call.
    pub(super) fn tell(&self, gang: Option<SyncSender<Event>>) {
        *self.gang.lock().unwrap_or_else(PoisonError::into_inner) = gang;
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(listener) = self.listener.take() {
            // A listener that panicked has nothing left to tell.
            let _ = listener.join();
        }
    }
}
