//! Memory: total size, lock limit, huge pages and shared memory. Reads `/proc`, `/sys` and the file system.

use std::path::Path;

use super::read_text;
use crate::topology::SystemRoots;

/// Total memory of the machine in bytes.
pub(super) fn total(proc: &Path) -> u64 {
    let info = read_text(&proc.join("meminfo")).unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or_default().saturating_mul(1024)
}

/// Soft limit on locked memory in bytes; `None` if it is unlimited.
pub(super) fn locked_limit(proc: &Path) -> Option<u64> {
    let limits = read_text(&proc.join("self/limits"))?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max locked memory"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Numbers of total and free 2 MiB huge pages.
pub(super) fn hugepages_2mi(roots: &SystemRoots) -> (u64, u64) {
    let directory = roots.sys.join("kernel/mm/hugepages/hugepages-2048kB");
    let count = |name: &str| {
        read_text(&directory.join(name))
            .and_then(|text| text.parse().ok())
            .unwrap_or_default()
    };
    (count("nr_hugepages"), count("free_hugepages"))
}

/// Free bytes of the shared-memory file system; 0 if it does not exist.
pub(super) fn shared_free(shm: &Path) -> u64 {
    rustix::fs::statvfs(shm).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}
