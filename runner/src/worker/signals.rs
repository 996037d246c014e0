//! Handles SIGTERM and SIGINT: the first signal stops the worker. After a timeout, the worker exits even if a thread
//! hangs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::ffi;

/// Timeout for an orderly exit, which could otherwise block forever if nothing reads the records.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Flag that is set when this process receives SIGTERM or SIGINT.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Whether the flag is set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Starts watching for signals. `notify` is called once, with the name of the first signal.
///
/// # Errors
/// Returns an error if the handlers cannot be installed or the thread cannot be started.
pub fn watch(notify: impl FnOnce(&'static str) + Send + 'static) -> io::Result<StopFlag> {
    let stop = StopFlag::default();
    let flag = stop.clone();
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    let watch = move || {
        let Some(signal) = signals.forever().next() else {
            return;
        };
        flag.set();
        notify(if signal == SIGINT { "SIGINT" } else { "SIGTERM" });
        thread::sleep(STOP_TIMEOUT);
        // When this process exits, the kernel sends a signal to the instruments.
        ffi::exit_now(3);
    };
    thread::Builder::new().name("signals".into()).spawn(watch)?;
    Ok(stop)
}
