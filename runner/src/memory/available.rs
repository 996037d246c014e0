//! Reserves memory that the machine and the cgroup have available.
//!
//! The kernel's OOM killer would kill a process that touches more pages than are available. A reservation lets the
//! runner report an error instead.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crds::record::CaseFailure;
use crds::v1alpha1::MemoryKind;
use rustix::fs::{FlockOperation, flock};

use super::MemoryError;
use crate::environment;
use crate::measure::deadline::Deadline;
use crate::topology::SystemRoots;

/// Size in bytes above which reservations follow each other.
const LARGE_BYTES: u64 = 256 * 1024 * 1024;
/// Directory whose lock a process holds during a large reservation.
const LOCKED: &str = "/dev/shm";
/// Maximum time to wait for the lock. Touching all pages of a machine takes about as long.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval between attempts to take the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// Memory that this process is about to use. During a large reservation, other processes with the same `/dev/shm` wait,
/// such as the workers of a local run, because each of them would find available the memory that only one of them can
/// have. Pods have a limit of their own instead. A process must not hold two reservations.
#[must_use]
#[derive(Debug)]
pub(crate) struct Reservation(
    #[expect(dead_code, reason = "dropping the file releases the lock")] Option<File>,
);

/// Reserves `needed` bytes of ordinary pages for `purpose`, a plural noun. The caller must touch the pages before it
/// drops the reservation. Memory whose available size is unknown can be reserved.
///
/// # Errors
/// Returns `NotEnough` if the machine or the cgroup has less available memory.
pub(crate) fn reserve(needed: u64, purpose: &str) -> Result<Reservation, MemoryError> {
    check(needed, purpose)?;
    if needed <= LARGE_BYTES {
        return Ok(Reservation(None));
    }
    // Without the lock, the second check is still useful.
    let locked = lock(Path::new(LOCKED), LOCK_TIMEOUT);
    check(needed, purpose)?;
    Ok(Reservation(locked))
}

/// Locks `directory`. Returns `None` if it cannot be locked within `timeout`.
fn lock(directory: &Path, timeout: Duration) -> Option<File> {
    let directory = File::open(directory).ok()?;
    let deadline = Instant::now() + timeout;
    while flock(&directory, FlockOperation::NonBlockingLockExclusive).is_err() {
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(LOCK_INTERVAL);
    }
    Some(directory)
}

/// Like [`reserve`], for memory that other processes will use.
pub(crate) fn check(needed: u64, purpose: &str) -> Result<(), MemoryError> {
    check_on(&SystemRoots::default(), needed, purpose)
}

/// Allocates `bytes` bytes before `deadline`, and touches their pages with values other than 0.
///
/// # Errors
/// Returns `MemoryUnavailable` if the process may not use so much memory, for example because of `ulimit -v`, and
/// `DeadlineExceeded` if the deadline passes.
pub(crate) fn touched_bytes(bytes: u64, deadline: &Deadline) -> Result<Vec<u8>, CaseFailure> {
    let mut touched = Vec::new();
    touched
        .try_reserve_exact(bytes as usize)
        .map_err(|error| MemoryError::Unavailable {
            kind: MemoryKind::Heap,
            bytes: bytes as usize,
            message: format!("{error}; check the limits of the process (ulimit -a)"),
        })?;
    deadline.in_parts("allocating the payload", bytes as usize, |offset, count| {
        touched.resize(offset + count, 1);
        Ok(())
    })?;
    Ok(touched)
}

fn check_on(roots: &SystemRoots, needed: u64, purpose: &str) -> Result<(), MemoryError> {
    match environment::available_memory(roots) {
        Some(available) if available.bytes < needed => Err(MemoryError::NotEnough {
            purpose: purpose.to_owned(),
            needed,
            limit: available.source.name(),
            available: available.bytes,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tests::Machine;

    /// Returns the limit and the available size if the check fails.
    fn error_for(files: &[(&str, &str)], bytes: u64) -> Option<(&'static str, u64)> {
        let machine = Machine::new(files);
        let checked = check_on(&machine.roots(), bytes, "buffers");
        checked.err().map(|error| match error {
            MemoryError::NotEnough { limit, available, .. } => (limit, available),
            other => panic!("{other}"),
        })
    }

    #[test]
    fn applies_the_limit_of_either_cgroup_version() {
        let plenty = ("proc/meminfo", "MemAvailable:   8 kB\n");
        let v1 = [
            plenty,
            ("proc/self/cgroup", "4:memory:/pod\n"),
            ("sys/fs/cgroup/memory/pod/memory.limit_in_bytes", "6000\n"),
            ("sys/fs/cgroup/memory/pod/memory.usage_in_bytes", "2000\n"),
        ];
        let v2 = [
            plenty,
            ("proc/self/cgroup", "0::/pod\n"),
            ("sys/fs/cgroup/pod/memory.max", "6000\n"),
            ("sys/fs/cgroup/pod/memory.current", "2000\n"),
        ];
        for files in [v1, v2] {
            assert_eq!(error_for(&files, 4000), None);
            assert_eq!(error_for(&files, 4001), Some(("the cgroup", 4000)));
        }
        assert_eq!(error_for(&[plenty], 8193), Some(("the machine", 8192)));
        assert_eq!(error_for(&[], 1 << 40), None);
    }

    #[test]
    fn rejects_more_memory_than_this_machine_has() {
        let error = reserve(1 << 50, "buffers").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("buffers need 1073741824.0 MiB, but the"),
            "{error}"
        );
        assert_eq!(error.reason(), crds::record::FailureReason::NotEnoughMemory);
    }

    #[test]
    fn an_impossible_allocation_is_an_error() {
        let hour = Deadline::after(Duration::from_secs(3600));
        let error = touched_bytes(i64::MAX as u64 - 1, &hour).unwrap_err();
        assert_eq!(error.reason, crds::record::FailureReason::MemoryUnavailable);
        assert_eq!(touched_bytes(3, &hour).unwrap(), [1, 1, 1]);
        let error = touched_bytes(3, &Deadline::after(Duration::ZERO)).unwrap_err();
        assert_eq!(error.reason, crds::record::FailureReason::DeadlineExceeded);
    }

    #[test]
    fn only_one_process_holds_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let short = Duration::from_millis(50);
        let first = lock(directory.path(), short).unwrap();
        assert!(lock(directory.path(), short).is_none());
        drop(first);
        assert!(lock(directory.path(), short).is_some());
        assert!(lock(&directory.path().join("missing"), short).is_none());
    }
}
