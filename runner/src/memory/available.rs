//! Checks that the machine and the cgroup have enough available memory.
//!
//! The kernel's OOM killer would kill a process that touches more pages than are available. This check lets the runner
//! report an error instead.

use crds::v1alpha1::MemoryKind;

use super::MemoryError;
use crate::environment;
use crate::topology::SystemRoots;

/// Checks that `bytes` bytes of ordinary pages are available.
///
/// # Errors
/// Returns `Unavailable` if the machine or the cgroup has less available memory.
pub(super) fn check(kind: MemoryKind, bytes: usize) -> Result<(), MemoryError> {
    check_on(&SystemRoots::default(), kind, bytes)
}

fn check_on(roots: &SystemRoots, kind: MemoryKind, bytes: usize) -> Result<(), MemoryError> {
    match environment::available_memory(roots) {
        Some(available) if available.bytes < bytes as u64 => Err(MemoryError::Unavailable {
            kind,
            bytes,
            message: format!(
                "{} has only {} bytes available; give the worker more memory, or use smaller sizes or a smaller window",
                available.source.name(),
                available.bytes
            ),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tests::Machine;

    fn error_for(files: &[(&str, &str)], bytes: usize) -> Option<String> {
        let machine = Machine::new(files);
        let checked = check_on(&machine.roots(), MemoryKind::Heap, bytes);
        checked.err().map(|error| error.to_string())
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
            let error = error_for(&files, 4001).unwrap();
            assert!(
                error.contains("the cgroup has only 4000 bytes available"),
                "{error}"
            );
        }
        let error = error_for(&[plenty], 8193).unwrap();
        assert!(
            error.contains("the machine has only 8192 bytes available"),
            "{error}"
        );
        assert_eq!(error_for(&[], 1 << 40), None);
    }

    #[test]
    fn rejects_more_memory_than_this_machine_has() {
        let error = check(MemoryKind::Heap, 1 << 50).unwrap_err();
        assert!(error.to_string().contains("has only"), "{error}");
        assert_eq!(error.reason(), crds::record::FailureReason::MemoryUnavailable);
    }
}
