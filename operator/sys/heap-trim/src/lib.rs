//! Returns freed memory to the operating system. Contains the only unsafe call of the operator.

/// Returns unused pages of the heap. glibc does not return pages below the end of its heap; other C libraries do.
///
/// The call scans the whole heap for some milliseconds, during which no other thread can allocate.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim(3) accepts any argument, accesses only the lists of the allocator under its locks, and may be
    // called from any thread at any time (MT-Safe).
    #[allow(unsafe_code, reason = "there is no safe wrapper")]
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::trim;

    /// Resident anonymous memory of this process, in KiB.
    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn returns_freed_memory_below_live_allocations() {
        let blocks: Vec<Box<[u8; 1024]>> = (0..64 * 1024).map(|_| Box::new([1; 1024])).collect();
        // The last allocation keeps the end of the heap in place.
        let last = Box::new([1_u8; 1024]);
        drop(blocks);
        let before = resident();
        trim();
        let after = resident();
        assert!(
            before - after > 32 * 1024,
            "{before} KiB before, {after} KiB after"
        );
        assert_eq!(last[0], 1);
    }
}
