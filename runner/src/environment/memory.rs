//! Memory: total size, lock limit, huge pages and shared memory. Reads `/proc`, `/sys` and the file system.

use std::path::Path;

use super::read_text;
use crate::topology::SystemRoots;

/// The machine's total memory in bytes.
pub(super) fn total(proc: &Path) -> u64 {
    meminfo_bytes(proc, "MemTotal:").unwrap_or_default()
}

/// Memory in bytes that new processes can use without swapping; `None` if the kernel does not report it.
pub(super) fn available(proc: &Path) -> Option<u64> {
    meminfo_bytes(proc, "MemAvailable:")
}

fn meminfo_bytes(proc: &Path, name: &str) -> Option<u64> {
    let info = read_text(&proc.join("meminfo"))?;
    let line = info.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib.saturating_mul(1024))
}

/// Soft limit on locked memory in bytes; `None` if it is unlimited.
pub(super) fn locked_limit(proc: &Path) -> Option<u64> {
    let limits = read_text(&proc.join("self/limits"))?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max locked memory"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Total and free 2 MiB huge page counts.
pub(super) fn hugepages_2mi(roots: &SystemRoots) -> (u64, u64) {
    let directory = roots.sys.join("kernel/mm/hugepages/hugepages-2048kB");
    let count = |name: &str| {
        read_text(&directory.join(name))
            .and_then(|text| text.parse().ok())
            .unwrap_or_default()
    };
    (count("nr_hugepages"), count("free_hugepages"))
}

/// Free bytes in the shared-memory file system; 0 if it does not exist.
pub(super) fn shared_free(shm: &Path) -> u64 {
    rustix::fs::statvfs(shm).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}
