//! CPUs to which the measuring threads are pinned. Reads sysfs.

use crate::environment::cpu;
use crate::topology::{self, Device, SystemRoots};

/// Returns `cpus` in the order in which a thread prefers them: first those near `gpu`, the PCI address of the GPU whose
/// memory the thread uses. A thread that uses only host memory prefers the CPUs near `nics`, the names of its rails'
/// NICs; names of other rail sources, such as IP addresses, have no effect.
pub(super) fn nearest_first(
    cpus: &[u32],
    gpu: Option<&str>,
    nics: &[String],
    roots: &SystemRoots,
) -> Vec<u32> {
    if let Some(gpu) = gpu {
        return cpu::nearest_first(&roots.sys, cpus, gpu);
    }
    let nics: Vec<Device> = nics
        .iter()
        .filter_map(|name| Device::named(name, roots))
        .collect();
    topology::nearest_cpus(cpus, &nics, |node| cpu::cpus_of_numa_node(&roots.sys, node))
}

/// CPUs of one NUMA node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeCpus {
    pub(super) node: u32,
    pub(super) cpus: Vec<u32>,
}

/// Divides `cpus` by NUMA node, in ascending order of the nodes. CPUs whose node is unknown are omitted.
pub(super) fn by_node(cpus: &[u32], roots: &SystemRoots) -> Vec<NodeCpus> {
    let nodes = cpu::numa_nodes(&roots.sys).into_iter();
    let of_node = |node: u32| {
        let own = cpu::cpus_of_numa_node(&roots.sys, node);
        let cpus: Vec<u32> = cpus.iter().copied().filter(|cpu| own.contains(cpu)).collect();
        (!cpus.is_empty()).then_some(NodeCpus { node, cpus })
    };
    nodes.filter_map(of_node).collect()
}

/// Element of `cpus` that occurs least often in `used`; the first such element if several are tied. `None` if `cpus` is
/// empty.
pub(super) fn least_used(cpus: &[u32], used: impl Iterator<Item = u32> + Clone) -> Option<u32> {
    let count = |cpu: &&u32| used.clone().filter(|used| used == *cpu).count();
    cpus.iter().min_by_key(count).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::fixture::Tree;

    #[test]
    fn prefers_cpus_near_the_gpu_and_otherwise_near_the_named_nics() {
        let tree = Tree::new();
        let gpu = "pci0000:40/0000:53:00.0";
        tree.pci(gpu, 0);
        tree.file(&format!("sys/devices/{gpu}/local_cpulist"), "0-1");
        tree.rdma("near", "pci0000:40/0000:4f:00.0", 0, "100 Gb/sec (4X EDR)");
        tree.rdma("far", "pci0000:80/0000:8f:00.0", 1, "100 Gb/sec (4X EDR)");
        tree.file("sys/devices/system/node/node0/cpulist", "0-1");
        tree.file("sys/devices/system/node/node1/cpulist", "2-3");
        tree.file("sys/class/net/lo/mtu", "65536");
        let ordered = |gpu: Option<&str>, nics: &[&str]| {
            let nics: Vec<String> = nics.iter().map(|name| (*name).to_owned()).collect();
            nearest_first(&[1, 3, 0, 2], gpu, &nics, &tree.roots())
        };
        assert_eq!(ordered(Some("0000:53:00.0"), &["far"]), [1, 0, 3, 2]);
        assert_eq!(ordered(None, &["far"]), [3, 2, 1, 0]);
        assert_eq!(ordered(None, &["near"]), [1, 0, 3, 2]);
        for unknown in [&[][..], &["lo"], &["10.0.0.1"], &["absent"]] {
            assert_eq!(ordered(None, unknown), [1, 3, 0, 2], "{unknown:?}");
        }
    }

    #[test]
    fn nodes_without_allowed_cpus_are_omitted() {
        let tree = Tree::new();
        tree.file("sys/devices/system/node/online", "0-2");
        for (node, cpus) in [(0, "0-3"), (1, "4-7"), (2, "8-11")] {
            tree.file(&format!("sys/devices/system/node/node{node}/cpulist"), cpus);
        }
        let nodes = |cpus: &[u32]| -> Vec<(u32, Vec<u32>)> {
            let nodes = by_node(cpus, &tree.roots()).into_iter();
            nodes.map(|node| (node.node, node.cpus)).collect()
        };
        assert_eq!(nodes(&[9, 1, 0]), [(0, vec![1, 0]), (2, vec![9])]);
        assert_eq!(nodes(&[]), []);
        assert_eq!(by_node(&[0, 1], &Tree::new().roots()), []);
    }

    #[test]
    fn each_thread_gets_an_unused_cpu_until_all_are_used() {
        let mut used = Vec::new();
        for cpus in [
            [0, 1, 2, 3],
            [2, 3, 0, 1],
            [0, 1, 2, 3],
            [2, 3, 0, 1],
            [0, 1, 2, 3],
        ] {
            used.extend(least_used(&cpus, used.clone().into_iter()));
        }
        assert_eq!(used, [0, 2, 1, 3, 0]);
        assert_eq!(least_used(&[], used.into_iter()), None);
    }
}
