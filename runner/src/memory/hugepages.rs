//! 2 MiB huge pages. Calls the kernel and reads `/proc` and `/sys`.
//!
//! The pages come from the machine's reserved pool; a pod must request `hugepages-2Mi`. The page size is verified in
//! the kernel's memory map of this process, because libraries and kernels can silently fall back to ordinary pages.

use std::fs;
use std::path::Path;

use crds::v1alpha1::MemoryKind;

use super::MemoryError;
use super::ffi::mapping::{HUGE_PAGE_BYTES, Mapping, Pages};
use super::maps;

const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// Allocates private huge pages of this process.
///
/// # Errors
/// Returns `Unavailable` if the pool has too few pages, the cgroup may not use them, or `/proc/self/smaps` shows a
/// different page size.
pub(super) fn allocate(bytes: usize) -> Result<Mapping, MemoryError> {
    let unavailable = |message| MemoryError::Unavailable {
        kind: MemoryKind::HugePages,
        bytes,
        message,
    };
    let mapping = Mapping::new(&Pages::Huge, bytes)
        .and_then(|mapping| mapping.populate().map(|()| mapping))
        .map_err(|error| unavailable(unavailable_message(bytes, &error, &Pool::read(Path::new(POOL)))))?;
    match maps::page_bytes(mapping.range()) {
        Some(size) if size == HUGE_PAGE_BYTES as u64 => Ok(mapping),
        Some(size) => Err(unavailable(format!(
            "the kernel backs the mapping with {size}-byte pages instead of {HUGE_PAGE_BYTES}-byte pages"
        ))),
        None => Err(unavailable(
            "/proc/self/smaps does not show the page size, so huge pages cannot be verified".to_owned(),
        )),
    }
}

/// State of the kernel's huge page pool. The fields are `None` if the kernel has no pool for this page size.
struct Pool {
    total: Option<u64>,
    free: Option<u64>,
    reserved: Option<u64>,
}

impl Pool {
    fn read(directory: &Path) -> Self {
        let count = |name| fs::read_to_string(directory.join(name)).ok()?.trim().parse().ok();
        Self {
            total: count("nr_hugepages"),
            free: count("free_hugepages"),
            reserved: count("resv_hugepages"),
        }
    }
}

fn unavailable_message(bytes: usize, error: &std::io::Error, pool: &Pool) -> String {
    let needed = bytes.div_ceil(HUGE_PAGE_BYTES);
    let Some((total, free)) = pool.total.zip(pool.free) else {
        return format!("the kernel does not support 2 MiB huge pages ({error})");
    };
    let free = free.saturating_sub(pool.reserved.unwrap_or(0));
    if free >= needed as u64 {
        return format!(
            "{needed} huge pages (2 MiB each) are needed and {free} of {total} are free, but this process may not use them \
             ({error}): request `hugepages-2Mi` in the run's resources"
        );
    }
    format!(
        "{needed} huge pages (2 MiB each) are needed and {free} of {total} are free: reserve them on the machine \
         (`sysctl vm.nr_hugepages={}`) and request `hugepages-2Mi` in the run's resources",
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

    fn message_for(bytes: usize, pool: &Pool) -> String {
        unavailable_message(bytes, &std::io::ErrorKind::OutOfMemory.into(), pool)
    }

    #[test]
    fn message_contains_the_number_of_pages_to_reserve() {
        let text = message_for(5 * HUGE_PAGE_BYTES + 1, &pool(8, 4, 2));
        assert!(
            text.contains("6 huge pages (2 MiB each) are needed and 2 of 8 are free"),
            "{text}"
        );
        assert!(text.contains("vm.nr_hugepages=12"), "{text}");
    }

    #[test]
    fn message_suggests_a_resource_request_if_pages_are_free() {
        assert!(message_for(1, &pool(8, 8, 0)).contains("may not use them"));
    }

    #[test]
    fn reports_a_kernel_without_a_pool() {
        let directory = tempfile::tempdir().unwrap();
        let text = message_for(1, &Pool::read(directory.path()));
        assert!(text.contains("does not support 2 MiB huge pages"), "{text}");
    }

    #[test]
    fn reads_the_pool_from_its_files() {
        let directory = tempfile::tempdir().unwrap();
        for (name, value) in [
            ("nr_hugepages", "7\n"),
            ("free_hugepages", "5\n"),
            ("resv_hugepages", "3\n"),
        ] {
            fs::write(directory.path().join(name), value).unwrap();
        }
        let text = message_for(3 * HUGE_PAGE_BYTES, &Pool::read(directory.path()));
        assert!(
            text.contains("3 huge pages (2 MiB each) are needed and 2 of 7 are free"),
            "{text}"
        );
    }
}
