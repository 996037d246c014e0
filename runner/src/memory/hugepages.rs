//! Huge pages of 2 MiB. Asks the kernel and reads `/proc` and `/sys`.
//!
//! The pages come from the pool that the machine (or the pod's `hugepages-2Mi`) reserves, and are checked in this
//! process's own map: libraries and kernels fall back to ordinary pages without a word.

use std::fs;
use std::path::Path;

use crds::v1alpha1::MemoryKind;

use super::MemoryError;
use super::ffi::mapping::{HUGE_PAGE_BYTES, Mapping, Pages};
use super::maps;

const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// Private huge pages of this process.
///
/// # Errors
/// `Unavailable` when the pool has too few, the control group may not use them, or the map shows other pages.
pub(super) fn allocate(bytes: usize) -> Result<Mapping, MemoryError> {
    let unavailable = |message| MemoryError::Unavailable {
        kind: MemoryKind::HugePages,
        bytes,
        message,
    };
    let mapping = Mapping::new(&Pages::Huge, bytes)
        .and_then(|mapping| mapping.populate().map(|()| mapping))
        .map_err(|error| unavailable(advice(bytes, &error, &Pool::read(Path::new(POOL)))))?;
    match maps::page_bytes(mapping.range()) {
        Some(size) if size == HUGE_PAGE_BYTES as u64 => Ok(mapping),
        Some(size) => Err(unavailable(format!(
            "the kernel backs the mapping with pages of {size} bytes in place of {HUGE_PAGE_BYTES}"
        ))),
        None => Err(unavailable(
            "/proc/self/smaps does not show the size of the pages, so they cannot be verified".to_owned(),
        )),
    }
}

/// What the kernel says about its pool; nothing where it has no pages of this size.
struct Pool {
    total: Option<u64>,
    free: Option<u64>,
    reserved: Option<u64>,
}

impl Pool {
    fn read(folder: &Path) -> Self {
        let number = |name| fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok();
        Self {
            total: number("nr_hugepages"),
            free: number("free_hugepages"),
            reserved: number("resv_hugepages"),
        }
    }
}

fn advice(bytes: usize, error: &std::io::Error, pool: &Pool) -> String {
    let needed = bytes.div_ceil(HUGE_PAGE_BYTES);
    let Some((total, free)) = pool.total.zip(pool.free) else {
        return format!("the kernel has no huge pages of 2 MiB ({error})");
    };
    let free = free.saturating_sub(pool.reserved.unwrap_or(0));
    if free >= needed as u64 {
        return format!(
            "{needed} huge pages of 2 MiB are needed and {free} of {total} are free, but this process may not use them \
             ({error}): ask for `hugepages-2Mi` in the resources of the run"
        );
    }
    format!(
        "{needed} huge pages of 2 MiB are needed and {free} of {total} are free: reserve them on the machine \
         (`sysctl vm.nr_hugepages={}`) and ask for `hugepages-2Mi` in the resources of the run",
        total + needed as u64 - free
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(total: u64, free: u64, reserved: u64) -> Pool {
        Pool {
            total: Some(total),
            free: Some(free),
            reserved: Some(reserved),
        }
    }

    fn advice_for(bytes: usize, pool: &Pool) -> String {
        advice(bytes, &std::io::ErrorKind::OutOfMemory.into(), pool)
    }

    #[test]
    fn advice_counts_what_is_missing() {
        let text = advice_for(5 * HUGE_PAGE_BYTES + 1, &pool(8, 4, 2));
        assert!(
            text.contains("6 huge pages of 2 MiB are needed and 2 of 8 are free"),
            "{text}"
        );
        assert!(text.contains("vm.nr_hugepages=12"), "{text}");
    }

    #[test]
    fn free_pages_that_are_refused_point_at_the_resources() {
        assert!(advice_for(1, &pool(8, 8, 0)).contains("may not use them"));
    }

    #[test]
    fn a_kernel_without_a_pool_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let text = advice_for(1, &Pool::read(folder.path()));
        assert!(text.contains("has no huge pages of 2 MiB"), "{text}");
    }

    #[test]
    fn the_pool_is_read_from_its_files() {
        let folder = tempfile::tempdir().unwrap();
        for (name, value) in [
            ("nr_hugepages", "7\n"),
            ("free_hugepages", "5\n"),
            ("resv_hugepages", "3\n"),
        ] {
            fs::write(folder.path().join(name), value).unwrap();
        }
        let text = advice_for(3 * HUGE_PAGE_BYTES, &Pool::read(folder.path()));
        assert!(
            text.contains("3 huge pages of 2 MiB are needed and 2 of 7 are free"),
            "{text}"
        );
    }
}
