//! Tests with hardware counters that the kernel refreshes only at intervals.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crds::v1alpha1::PingPongOperation::Send;
use tempfile::TempDir;

use super::fixture::{BASELINE, Pair, ping_pong};
use crate::topology::SystemRoots;

/// Interval at which the simulated kernel refreshes the counters.
const REFRESH: Duration = Duration::from_millis(20);
/// Refresh interval that the simulated kernel reports, in milliseconds. It is much longer than [`REFRESH`], because the
/// thread that simulates the kernel may wake late on a busy machine.
const REPORTED_MILLIS: &str = "400";

/// Directory with the port's counters.
const COUNTERS: &str = "sys/class/infiniband/nic/ports/1/hw_counters";

/// An RDMA port whose counter files are copied from `hardware` at intervals.
struct CachedPort {
    directory: TempDir,
    /// Lock that is held while the current refresh interval must not end.
    interval: Arc<Mutex<()>>,
    stopped: Arc<AtomicBool>,
    kernel: Option<JoinHandle<()>>,
}

impl CachedPort {
    fn new(hardware: Arc<AtomicU64>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let counters = directory.path().join(COUNTERS);
        fs::create_dir_all(&counters).unwrap();
        let refresh = move || {
            let sent = hardware.load(Ordering::Relaxed).to_string();
            write(&counters, "tx_bytes", &sent);
            write(&counters, "rx_bytes", "0");
        };
        refresh();
        let interval = Arc::new(Mutex::new(()));
        let stopped = Arc::new(AtomicBool::new(false));
        let (current, is_stopped) = (Arc::clone(&interval), Arc::clone(&stopped));
        let kernel = thread::spawn(move || {
            while !is_stopped.load(Ordering::Relaxed) {
                thread::park_timeout(REFRESH);
                let _ended = current.lock().unwrap_or_else(PoisonError::into_inner);
                refresh();
            }
        });
        Self {
            directory,
            interval,
            stopped,
            kernel: Some(kernel),
        }
    }

    /// Sets the refresh interval that the kernel reports.
    fn report(&self, millis: &str) {
        write(&self.directory.path().join(COUNTERS), "lifespan", millis);
    }

    /// Runs `case` within one refresh interval.
    fn within_one_interval<T>(&self, case: impl FnOnce() -> T) -> T {
        let _current = self.interval.lock().unwrap_or_else(PoisonError::into_inner);
        case()
    }

    fn roots(&self) -> SystemRoots {
        SystemRoots {
            sys: self.directory.path().join("sys"),
            proc: self.directory.path().join("proc"),
        }
    }
}

impl Drop for CachedPort {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(kernel) = self.kernel.take() {
            kernel.thread().unpark();
            kernel.join().unwrap();
        }
    }
}

/// Replaces a file atomically, so that a reader never sees an incomplete number.
fn write(directory: &Path, name: &str, text: &str) {
    let new: PathBuf = directory.join(format!("{name}.new"));
    fs::write(&new, text).unwrap();
    fs::rename(new, directory.join(name)).unwrap();
}

/// Runs a case. Returns the number of bytes that the initiator posted in the window, and the number of bytes that the
/// port counted.
fn posted_and_counted(pair: &mut Pair, size_bytes: u64) -> (u64, u64) {
    let (initiator, _) = pair.measure(size_bytes);
    let [nic] = initiator.interfaces.as_slice() else {
        panic!("{:?}", initiator.interfaces);
    };
    (initiator.posted.unwrap().payload_bytes, nic.tx_bytes)
}

#[test]
fn counters_cover_a_window_within_one_refresh_interval() {
    let mut pair = Pair::new(ping_pong(Send, 50), BASELINE, 1, 4096);
    let hardware = Arc::clone(&pair.initiator.threads[0].transport.posted_bytes);
    let port = CachedPort::new(hardware);
    pair.initiator.read_counters_of("nic", port.roots());
    for size in [64, 1024] {
        // Negative control: if the interval that the port reports is too short, its counters are read before they are
        // refreshed, so they do not include the payload.
        port.report("0");
        let early = port.within_one_interval(|| posted_and_counted(&mut pair, size));
        assert_eq!(early, (50 * size, 0), "the reading must not cover the payload");
        port.report(REPORTED_MILLIS);
        let covered = posted_and_counted(&mut pair, size);
        assert_eq!(
            covered,
            (50 * size, 50 * size),
            "warm-up and other cases are excluded"
        );
    }
}
