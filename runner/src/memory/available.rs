//! Checks the memory available on the machine and in the cgroup. Reads `/proc` and `/sys/fs/cgroup`.
//!
//! The kernel's OOM killer would kill a process that touches more pages than are available. With this check, the runner
//! reports an error instead.

use std::fs;

use crds::v1alpha1::MemoryKind;

use super::MemoryError;

/// Checks that `bytes` bytes of ordinary pages are available.
///
/// # Errors
/// `Unavailable` if the machine or the cgroup has less available memory.
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
            "the cgroup",
            limit
                .zip(current)
                .and_then(|(limit, current)| available_in_cgroup(&limit, &current)),
        ),
    ];
    for (source, available) in sources {
        if let Some(available) = available.filter(|available| *available < bytes as u64) {
            return Err(MemoryError::Unavailable {
                kind,
                bytes,
                message: format!(
                    "{source} has only {available} bytes available; give the worker more memory, or use smaller sizes \
                     or a smaller window"
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

/// Bytes that are still available in a cgroup (v2); `None` if the cgroup has no limit.
fn available_in_cgroup(limit: &str, current: &str) -> Option<u64> {
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
    fn returns_none_for_a_cgroup_without_a_limit() {
        assert_eq!(available_in_cgroup("max\n", "4096\n"), None);
        assert_eq!(available_in_cgroup("8192\n", "4096\n"), Some(4096));
        assert_eq!(available_in_cgroup("4096\n", "8192\n"), Some(0));
    }

    #[test]
    fn rejects_more_memory_than_the_machine_has() {
        let error = check(MemoryKind::Heap, 1 << 50).unwrap_err();
        assert!(error.to_string().contains("has"), "{error}");
        assert_eq!(error.reason(), crds::record::FailureReason::MemoryUnavailable);
    }
}
