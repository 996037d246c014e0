//! NUMA nodes and page size of a range of pages, from the kernel's memory maps of this process. Reads `/proc/self`;
//! parsing performs no I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;

/// NUMA nodes that hold the pages of `range` that are present, from `/proc/self/numa_maps`; empty if the kernel does
/// not report them.
///
/// In most pods, the equivalent system calls (`move_pages`, `get_mempolicy`) are blocked, but this file is readable.
pub(super) fn numa_nodes(range: Range<u64>) -> BTreeSet<u32> {
    let text = fs::read_to_string("/proc/self/numa_maps").unwrap_or_default();
    pages_by_node(&text, range).into_keys().collect()
}

/// Size of the smallest page that backs `range`, in bytes, from `/proc/self/smaps`.
pub(super) fn page_bytes(range: Range<u64>) -> Option<u64> {
    smallest_page(&fs::read_to_string("/proc/self/smaps").ok()?, range)
}

/// Returns the number of pages on each node.
///
/// Sums the lines of `numa_maps` whose address is in `range`, such as `7f00 default anon=5 N0=4 N1=1 …`.
fn pages_by_node(text: &str, range: Range<u64>) -> BTreeMap<u32, u64> {
    let mut pages = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let start = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
        if !start.is_some_and(|start| range.contains(&start)) {
            continue;
        }
        for (node, count) in words.filter_map(|word| word.strip_prefix('N')?.split_once('=')) {
            if let (Ok(node), Ok(count)) = (node.parse::<u32>(), count.parse::<u64>())
                && count > 0
            {
                *pages.entry(node).or_default() += count;
            }
        }
    }
    pages
}

/// Smallest `KernelPageSize` of the areas in `smaps` that start in `range`.
fn smallest_page(text: &str, range: Range<u64>) -> Option<u64> {
    let mut inside = false;
    let mut smallest: Option<u64> = None;
    for line in text.lines() {
        if let Some(start) = area_start(line) {
            inside = range.contains(&start);
        } else if inside && let Some(size) = line.strip_prefix("KernelPageSize:") {
            let kibibytes: u64 = size.trim().strip_suffix(" kB")?.parse().ok()?;
            let bytes = kibibytes.checked_mul(1024)?;
            smallest = Some(smallest.map_or(bytes, |known| known.min(bytes)));
        }
    }
    smallest
}

/// Start address if the line is the header of an area, such as `7f00-7f80 rw-p …`.
fn area_start(line: &str) -> Option<u64> {
    let (addresses, _) = line.split_once(' ')?;
    let (start, end) = addresses.split_once('-')?;
    u64::from_str_radix(end, 16).ok()?;
    u64::from_str_radix(start, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMA_MAPS: &str = "\
7f0000000000 default file=/lib/N7=1 mapped=2 N3=2 kernelpagesize_kB=4
7f0000200000 default anon=8 dirty=8 N0=8 kernelpagesize_kB=4
7f0000400000 bind:1 anon=2 dirty=2 N0=1 N1=1 kernelpagesize_kB=4
7f0000600000 default
";

    const SMAPS: &str = "\
7f0000000000-7f0000200000 rw-p 00000000 00:00 0 
Size:               2048 kB
KernelPageSize:        4 kB
MMUPageSize:           4 kB
7f0000200000-7f0000400000 rw-p 00000000 00:0f 31 /anon_hugepage (deleted)
KernelPageSize:     2048 kB
VmFlags: rd wr mr mw me ht 
7f0000400000-7f0000600000 rw-p 00000000 00:00 0 
KernelPageSize:        4 kB
";

    fn nodes(range: Range<u64>) -> Vec<u32> {
        pages_by_node(NUMA_MAPS, range).into_keys().collect()
    }

    #[test]
    fn returns_every_node_that_holds_pages() {
        assert_eq!(nodes(0x7f00_0020_0000..0x7f00_0040_0000), [0]);
        assert_eq!(nodes(0x7f00_0040_0000..0x7f00_0060_0000), [0, 1]);
        assert_eq!(nodes(0x7f00_0020_0000..0x7f00_0060_0000), [0, 1]);
    }

    #[test]
    fn returns_no_node_for_a_range_without_pages_or_areas() {
        assert_eq!(nodes(0x7f00_0060_0000..0x7f00_0080_0000), [0_u32; 0]);
        assert_eq!(nodes(0x1000..0x2000), [0_u32; 0]);
    }

    #[test]
    fn ignores_file_names_that_look_like_nodes() {
        assert_eq!(nodes(0x7f00_0000_0000..0x7f00_0020_0000), [3]);
    }

    #[test]
    fn returns_the_smallest_page_of_the_range() {
        let huge = 0x7f00_0020_0000..0x7f00_0040_0000;
        assert_eq!(smallest_page(SMAPS, huge), Some(2 * 1024 * 1024));
        assert_eq!(
            smallest_page(SMAPS, 0x7f00_0020_0000..0x7f00_0060_0000),
            Some(4096)
        );
        assert_eq!(smallest_page(SMAPS, 0x1000..0x2000), None);
    }
}
