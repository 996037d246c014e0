//! Gives freed memory back to the system. The one call of the operator that is not safe Rust, and nothing else.

/// Gives the pages back that hold nothing any more. glibc keeps those below the end of its heap for ever; other C
/// libraries return them by themselves.
///
/// It looks through the whole heap: milliseconds, during which no other thread allocates.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim(3) takes any number, reads and changes nothing but the allocator's own lists, under its locks,
    // and may be called by any thread at any time (MT-Safe).
    #[allow(unsafe_code, reason = "no safe function reaches it")]
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::trim;

    /// Resident memory of this process that is no file's, in KiB.
    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn freed_memory_below_what_is_still_used_is_given_back() {
        let blocks: Vec<Box<[u8; 1024]>> = (0..64 * 1024).map(|_| Box::new([1; 1024])).collect();
        // What came last keeps the end of the heap where it is.
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
