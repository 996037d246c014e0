//! CPUs: allowed set, model and frequency governor. Reads `/proc` and `/sys`.

use std::collections::BTreeSet;
use std::path::Path;

use crds::cpu_list;

use super::read_text;
use crate::topology::SystemRoots;

/// List of allowed CPUs in `/proc/self/status`, such as `0-3,8`.
pub(super) fn allowed_list(status: &str) -> String {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap_or_default().trim().to_owned()
}

/// Online NUMA nodes; empty if the kernel does not report them.
pub fn numa_nodes(sys: &Path) -> Vec<u32> {
    let list = read_text(&sys.join("devices/system/node/online"));
    cpu_list::parse(&list.unwrap_or_default())
}

/// CPUs of a NUMA node; empty if the node does not exist.
pub fn cpus_of_numa_node(sys: &Path, node: u32) -> Vec<u32> {
    let list = read_text(&sys.join(format!("devices/system/node/node{node}/cpulist")));
    cpu_list::parse(&list.unwrap_or_default())
}

/// Number of online CPUs of this machine; 0 if the kernel does not report it.
pub fn online() -> usize {
    let list = read_text(&SystemRoots::default().sys.join("devices/system/cpu/online"));
    cpu_list::parse(&list.unwrap_or_default()).len()
}

/// Reorders `cpus` so that those on the NUMA node of the PCI device at `address` come first. Returns `cpus` unchanged
/// if the kernel does not report the device's NUMA node.
pub fn nearest_first(sys: &Path, cpus: &[u32], address: &str) -> Vec<u32> {
    let list = read_text(&sys.join(format!("bus/pci/devices/{address}/local_cpulist")));
    let local: BTreeSet<u32> = cpu_list::parse(&list.unwrap_or_default()).into_iter().collect();
    let (mut nearest, others): (Vec<u32>, Vec<u32>) = cpus.iter().partition(|cpu| local.contains(cpu));
    nearest.extend(others);
    nearest
}

/// Model of the first CPU, or its implementer and part numbers on Arm, where the kernel reports no `model name`.
pub(super) fn model(proc: &Path) -> String {
    let info = read_text(&proc.join("cpuinfo")).unwrap_or_default();
    let field = |name: &str| {
        info.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let arm = || {
        Some(format!(
            "implementer {} part {}",
            field("CPU implementer")?,
            field("CPU part")?
        ))
    };
    field("model name").or_else(arm).unwrap_or_default()
}

/// Comma-separated frequency governors of `cpus`, without duplicates.
pub(super) fn governor(sys: &Path, cpus: &[u32]) -> Option<String> {
    let governors: BTreeSet<_> = cpus
        .iter()
        .filter_map(|cpu| {
            read_text(&sys.join(format!("devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")))
        })
        .collect();
    let joined = governors.into_iter().collect::<Vec<_>>().join(",");
    (!joined.is_empty()).then_some(joined)
}
