//! Determines which kinds of memory this machine provides, from procfs, sysfs, `/dev` and the dynamic linker's search
//! path.

use std::process::Command;
use std::{env, fs};

const HUGE_PAGE_BYTES: u64 = 2 * 1024 * 1024;

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Expected error text for an allocation of `pages` 2 MiB huge pages; `None` if this process can allocate them.
pub(super) fn expected_huge_page_error(pages: u64) -> Option<&'static str> {
    let pool = |name| number(&format!("/sys/kernel/mm/hugepages/hugepages-2048kB/{name}"));
    let Some(unused) = pool("free_hugepages") else {
        return Some("the kernel does not support 2 MiB huge pages");
    };
    let count = |name| pool(name).unwrap();
    let free = unused - count("resv_hugepages");
    // Pages that the kernel adds to the pool on demand.
    let surplus = count("nr_overcommit_hugepages").saturating_sub(count("surplus_hugepages"));
    let limit = number("/sys/fs/cgroup/hugetlb.2MB.max")
        .or_else(|| number("/sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes"));
    let is_permitted = limit.is_none_or(|bytes| bytes / HUGE_PAGE_BYTES >= pages);
    if is_permitted && free + surplus >= pages {
        None
    } else if free >= pages {
        Some("but this process may not use them")
    } else {
        Some("are free: reserve them on the machine (`sysctl vm.nr_hugepages=")
    }
}

/// Expected error text for an allocation of GPU memory; `None` if this process can allocate it.
pub(super) fn expected_gpu_error() -> Option<&'static str> {
    if !linker_finds("libcuda.so") {
        Some("no CUDA driver (libcuda.so.1)")
    } else if !has_gpu() {
        Some("device 0: cuInit failed")
    } else {
        None
    }
}

/// Whether the dynamic linker finds a library whose file name starts with `prefix`.
fn linker_finds(prefix: &str) -> bool {
    let cache = Command::new("/sbin/ldconfig").arg("-p").output().unwrap().stdout;
    let is_cached = String::from_utf8_lossy(&cache)
        .lines()
        .any(|line| line.trim_start().starts_with(prefix));
    let variable = env::var("LD_LIBRARY_PATH").unwrap_or_default();
    is_cached
        || variable
            .split(':')
            .any(|directory| has_file(directory, |name| name.starts_with(prefix)))
}

/// Whether the NVIDIA driver shows a GPU to this process, such as `/dev/nvidia0`.
fn has_gpu() -> bool {
    let is_gpu = |name: &str| {
        let number = name.strip_prefix("nvidia").unwrap_or_default();
        number.parse::<u32>().is_ok()
    };
    has_file("/dev", is_gpu)
}

fn has_file(directory: &str, is_wanted: impl Fn(&str) -> bool) -> bool {
    let mut entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.any(|entry| is_wanted(&entry.file_name().to_string_lossy()))
}
