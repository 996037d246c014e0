//! SIGTERM and SIGINT: seen once, passed on, and obeyed even when something hangs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::ffi;

/// How long an orderly end may take; a reader that does not read could hold it up for ever.
const STOP_WAIT: Duration = Duration::from_secs(10);

/// Whether this process was told to stop.
#[derive(Clone, Debug, Default)]
pub struct Stopping(Arc<AtomicBool>);

impl Stopping {
    /// Whether it was.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Watches for signals from now on; `tell` passes the first one on, by its name.
///
/// # Errors
/// When the system installs no handler or starts no thread.
pub fn watch(tell: impl FnOnce(&'static str) + Send + 'static) -> io::Result<Stopping> {
    let stopping = Stopping::default();
    let flag = stopping.clone();
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    let watch = move || {
        let Some(signal) = signals.forever().next() else {
            return;
        };
        flag.0.store(true, Ordering::Relaxed);
        tell(if signal == SIGINT { "SIGINT" } else { "SIGTERM" });
        thread::sleep(STOP_WAIT);
        // Instruments die with this process.
        ffi::exit_now(3);
    };
    thread::Builder::new().name("signals".into()).spawn(watch)?;
    Ok(stopping)
}
