//! Reserves memory that the machine and the cgroup have available.
//!
//! The kernel's OOM killer would kill a process that touches more pages than are available. A reservation lets the
//! runner report an error instead.

use std::fs::File;

use rustix::fs::{FlockOperation, flock};

use super::MemoryError;
use crate::environment;
use crate::topology::SystemRoots;

/// Size in bytes above which reservations of the workers on one machine follow each other.
const LARGE_BYTES: u64 = 256 * 1024 * 1024;
/// Directory whose lock a worker holds during a large reservation.
const LOCKED: &str = "/dev/shm";

/// Memory that this process is about to use. During a large reservation, other workers on this machine wait, because
/// each of them would find available the memory that only one of them can have. The timeout of the instrument's request
/// limits the wait. A process must not hold two reservations.
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
    let directory = (needed > LARGE_BYTES).then(|| File::open(LOCKED).ok()).flatten();
    let locked = directory.filter(|directory| flock(directory, FlockOperation::LockExclusive).is_ok());
    check(needed, purpose)?;
    Ok(Reservation(locked))
}

/// Like [`reserve`], for memory that other processes will use.
pub(crate) fn check(needed: u64, purpose: &str) -> Result<(), MemoryError> {
    check_on(&SystemRoots::default(), needed, purpose)
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
    fn large_reservations_follow_each_other() {
        let first = reserve(LARGE_BYTES + 1, "buffers").unwrap();
        let lock = || {
            flock(
                File::open(LOCKED).unwrap(),
                FlockOperation::NonBlockingLockExclusive,
            )
        };
        assert!(lock().is_err());
        let small = reserve(1, "buffers").unwrap();
        drop((first, small));
        lock().unwrap();
    }
}
