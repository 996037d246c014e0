//! Checks the memory available to the machine and the control group. Reads `/proc` and `/sys/fs/cgroup`.
//!
//! The kernel kills a process that touches more pages than are available. Checking first turns this into an error.

use std::fs;

use crds::v1alpha1::MemoryKind;

use super::MemoryError;

/// Checks that `bytes` bytes of ordinary pages are available.
///
/// # Errors
/// `Unavailable` if the machine or the control group has less memory left.
pub(super) fn check(kind: MemoryKind, bytes: usize) -> Result<(), MemoryError> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let limit = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let current = fs::read_to_string("/sys/fs/cgroup/memory.current").ok();
    let sources = [
        (
            "the machine",
            machine.as_deref().and_then(|text| meminfo(text, "MemAvailable")),
        ),
        (
            "the control group",
            limit
                .zip(current)
                .and_then(|(limit, current)| group_left(&limit, &current)),
        ),
    ];
    for (source, available) in sources {
        if let Some(available) = available.filter(|available| *available < bytes as u64) {
            return Err(MemoryError::Unavailable {
                kind,
                bytes,
                message: format!(
                    "{source} has only {available} bytes left; give the worker more memory, or use smaller sizes or a \
                     smaller window"
                ),
            });
        }
    }
    Ok(())
}

/// Value of a line of `/proc/meminfo`, in bytes.
fn meminfo(text: &str, name: &str) -> Option<u64> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kibibytes: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Bytes that a control group (version 2) has left; `None` if it has no limit.
fn group_left(limit: &str, current: &str) -> Option<u64> {
    let limit: u64 = limit.trim().parse().ok()?;
    let current: u64 = current.trim().parse().ok()?;
    Some(limit.saturating_sub(current))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_meminfo_to_bytes() {
        let text = "MemTotal:       100 kB\nMemAvailable:     7 kB\nHugePages_Total: 3\n";
        assert_eq!(meminfo(text, "MemAvailable"), Some(7 * 1024));
        assert_eq!(meminfo(text, "Mem"), None);
        assert_eq!(meminfo(text, "HugePages_Total"), None);
    }

    #[test]
    fn a_group_without_a_limit_has_no_value() {
        assert_eq!(group_left("max\n", "4096\n"), None);
        assert_eq!(group_left("8192\n", "4096\n"), Some(4096));
        assert_eq!(group_left("4096\n", "8192\n"), Some(0));
    }

    #[test]
    fn rejects_more_memory_than_the_machine_has() {
        let error = check(MemoryKind::Heap, 1 << 50).unwrap_err();
        assert!(error.to_string().contains("has"), "{error}");
        assert_eq!(error.reason(), crds::record::FailureReason::MemoryUnavailable);
    }
}
