//! Kernel page accounting: which pages of a file a process has mapped, and how much memory a whole process uses. Reads
//! `/proc`; parsing performs no I/O.
//!
//! The proportional set size (Pss) of a mapping divides every page by the number of mappings that contain it. The sum
//! over all processes is therefore their total memory, whereas the resident set size (Rss) counts a shared page once
//! for each process.

use std::fs;
use std::ops::Range;
use std::os::fd::AsFd;

use crds::record::{CaseFailure, FailureReason};
use rustix::fs::{fstat, major, minor};
use serde::{Deserialize, Serialize};

use super::failure;
use crate::memory::Memory;

/// Pages of a file that a process has mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MappedPages {
    /// Device of the file in the format of `/proc/PID/maps`, such as `00:01`.
    pub device: String,
    /// Inode of the file.
    pub inode: u64,
    /// Number of mappings.
    pub mappings: u64,
    /// Resident set size in bytes.
    pub rss_bytes: u64,
    /// Proportional set size in bytes.
    pub pss_bytes: u64,
    /// Bytes in pages that no other mapping contains.
    pub private_bytes: u64,
}

/// Memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessMemory {
    /// Resident set size in bytes.
    pub rss_bytes: u64,
    /// Proportional set size in bytes.
    pub pss_bytes: u64,
}

/// Returns the pages of the shared memory `memory` that process `pid` has mapped; `None` if the kernel does not report
/// the pages, or if `memory` is not shared memory.
pub fn mapping_pages(pid: u32, memory: &Memory) -> Option<MappedPages> {
    let stat = fstat(memory.descriptor()?.as_fd()).ok()?;
    let device = format!("{:02x}:{:02x}", major(stat.st_dev), minor(stat.st_dev));
    let text = fs::read_to_string(format!("/proc/{pid}/smaps")).ok()?;
    file_pages(&text, &device, stat.st_ino)
}

/// Returns the pages of `memory` in this process: the pages of the shared memory file, or private pages. `None` if the
/// kernel does not report them.
pub fn own_pages(memory: &Memory) -> Option<MappedPages> {
    if memory.descriptor().is_some() {
        return mapping_pages(std::process::id(), memory);
    }
    let start = memory.address().addr() as u64;
    range_pages(
        &fs::read_to_string("/proc/self/smaps").ok()?,
        start..start + memory.length() as u64,
    )
}

/// Returns the memory of process `pid`; `None` if the kernel does not report it.
pub fn process_memory(pid: u32) -> Option<ProcessMemory> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    Some(ProcessMemory {
        rss_bytes: sum(&text, &["Rss"])?,
        pss_bytes: sum(&text, &["Pss"])?,
    })
}

/// Failure for memory that the kernel does not report.
pub fn unknown_memory() -> CaseFailure {
    failure(
        FailureReason::OperationRejected,
        "the memory of a process is unknown: the kernel does not provide /proc/PID/smaps_rollup, which requires \
         Linux 4.14"
            .to_owned(),
    )
}

fn file_pages(text: &str, device: &str, inode: u64) -> Option<MappedPages> {
    let found = matching_pages(text, |area| (area.device, area.inode) == (device, inode))?;
    Some(MappedPages {
        device: device.to_owned(),
        inode,
        ..found
    })
}

/// Returns the pages of the areas that start in `range`.
fn range_pages(text: &str, range: Range<u64>) -> Option<MappedPages> {
    matching_pages(text, |area| range.contains(&area.start))
}

/// Returns the pages of the areas for which `is_included` returns true; `None` if there are none.
fn matching_pages(text: &str, is_included: impl Fn(&Area<'_>) -> bool) -> Option<MappedPages> {
    let mut pages = MappedPages::default();
    let mut inside = false;
    for line in text.lines() {
        if let Some(area) = Area::parse(line) {
            inside = is_included(&area);
            pages.mappings += u64::from(inside);
        } else if inside {
            let value = |name| sum(line, &[name]).unwrap_or(0);
            pages.rss_bytes += value("Rss");
            pages.pss_bytes += value("Pss");
            pages.private_bytes += value("Private_Clean") + value("Private_Dirty");
        }
    }
    (pages.mappings > 0).then_some(pages)
}

/// First line of an address range in `smaps`.
struct Area<'a> {
    start: u64,
    device: &'a str,
    inode: u64,
}

impl<'a> Area<'a> {
    /// Parses the first line of an area; returns `None` for other lines.
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (start, _) = words.next()?.split_once('-')?;
        let start = u64::from_str_radix(start, 16).ok()?;
        let mut words = words.skip(2);
        Some(Self {
            start,
            device: words.next()?,
            inode: words.next()?.parse().ok()?,
        })
    }
}

/// Returns the sum of the values of `names` in bytes; `None` if there is no such value.
fn sum(text: &str, names: &[&str]) -> Option<u64> {
    let values = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        names.contains(&name).then_some(())?;
        let kibibytes: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
        kibibytes.checked_mul(1024)
    });
    values.reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::MemoryKind;

    use super::*;

    const SMAPS: &str = "\
55854fe2a000-55854fe2c000 r--p 00000000 fe:00 28303                      /usr/bin/head
Rss:                   8 kB
Pss:                   8 kB
Private_Clean:         8 kB
7fab9077c000-7fab9477c000 rw-s 00000000 00:01 28303                      /memfd:x (deleted)
Size:              65536 kB
Rss:               65536 kB
Pss:               32768 kB
Pss_Dirty:         32768 kB
Private_Clean:         0 kB
Private_Dirty:         4 kB
VmFlags: rd wr sh mr mw me ms
7fab9477c000-7fab9477d000 ---p 00000000 00:00 0
Rss:                   4 kB
7faba0000000-7faba0001000 rw-s 00000000 00:01 28303                      /memfd:x (deleted)
Rss:                   4 kB
Pss:                   1 kB
";

    #[test]
    fn mappings_of_the_same_file_are_added() {
        let found = file_pages(SMAPS, "00:01", 28303).unwrap();
        assert_eq!((found.mappings, found.rss_bytes), (2, 65540 * 1024));
        assert_eq!((found.pss_bytes, found.private_bytes), (32769 * 1024, 4096));
        // Inodes are unique only on their device.
        assert_eq!(file_pages(SMAPS, "fe:00", 28303).unwrap().rss_bytes, 8192);
        assert_eq!(file_pages(SMAPS, "00:01", 7), None);
    }

    #[test]
    fn kernel_reports_the_pages_of_both_mappings_of_one_file() {
        let bytes = 1 << 20;
        let memory = Memory::allocate(MemoryKind::SharedMemory, bytes).unwrap();
        let pid = std::process::id();
        let one = mapping_pages(pid, &memory).unwrap();
        assert_eq!(
            (one.mappings, one.rss_bytes, one.private_bytes),
            (1, 1 << 20, 1 << 20)
        );
        let file = memory.descriptor().unwrap().try_clone_to_owned().unwrap();
        let second = Memory::map_shared(file.into(), bytes).unwrap();
        let mut last = [0];
        for page in (0..bytes).step_by(4096) {
            second.read_into(page, &mut last).unwrap();
        }
        let both = mapping_pages(pid, &memory).unwrap();
        assert_eq!((both.mappings, both.rss_bytes), (2, 2 << 20));
        // Each page is in two mappings.
        assert_eq!((both.pss_bytes, both.private_bytes), (1 << 20, 0));
        let process = process_memory(pid).unwrap();
        assert!(process.pss_bytes <= process.rss_bytes && process.rss_bytes > 2 << 20);
        let private = Memory::allocate(MemoryKind::Heap, bytes).unwrap();
        assert_eq!(mapping_pages(pid, &private), None);
        let own = own_pages(&private).unwrap();
        assert_eq!((own.pss_bytes, own.private_bytes), (1 << 20, 1 << 20));
        assert_eq!(own_pages(&memory).unwrap().mappings, 2);
    }
}
