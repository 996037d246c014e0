//! Order in which CPUs are used for transfers between host memory and given NICs. Performs no I/O.
//!
//! Host memory is allocated on the NUMA node of the CPU that first uses it, so using a CPU near the NICs also places
//! the memory near the NICs.

use std::cmp::Reverse;

use super::Device;

/// Reorders `cpus` so that the CPUs on the NUMA nodes of `nics` come first; the order is otherwise unchanged. `nics`
/// must be in the order of the rails that use them, and `on_node` returns the CPUs of a node.
///
/// If the NICs are on several nodes, the nodes are ordered by their number of NICs, largest first. Nodes with the same
/// number of NICs are ordered by the first rail that uses them. NICs whose node is unknown have no effect.
pub fn nearest_cpus(cpus: &[u32], nics: &[Device], on_node: impl Fn(u32) -> Vec<u32>) -> Vec<u32> {
    let used: Vec<u32> = nics.iter().filter_map(|nic| nic.numa_node).collect();
    let mut nodes: Vec<u32> = Vec::new();
    for node in &used {
        if !nodes.contains(node) {
            nodes.push(*node);
        }
    }
    nodes.sort_by_key(|node| Reverse(used.iter().filter(|used| *used == node).count()));
    let groups: Vec<Vec<u32>> = nodes.into_iter().map(on_node).collect();
    let position = |cpu: &u32| groups.iter().position(|group| group.contains(cpu));
    let mut ordered = cpus.to_vec();
    ordered.sort_by_key(|cpu| position(cpu).unwrap_or(groups.len()));
    ordered
}

#[cfg(test)]
mod tests {
    use super::super::fixture::machines::{machine, node_cpus};
    use super::*;

    /// Returns the first `count` CPUs for rails that use `nics` on a p4d.24xlarge if all of its CPUs are allowed.
    fn first_cpus(nics: &[&str], count: usize) -> Vec<u32> {
        let machine = machine("p4d.24xlarge");
        let find = |name: &&str| machine.devices.iter().find(|device| device.name == *name);
        let nics: Vec<Device> = nics.iter().filter_map(find).cloned().collect();
        let all: Vec<u32> = (0..96).collect();
        let mut ordered = nearest_cpus(&all, &nics, node_cpus);
        assert_eq!(ordered.len(), all.len());
        ordered.truncate(count);
        ordered
    }

    #[test]
    fn cpus_near_the_nics_come_first() {
        assert_eq!(first_cpus(&["rdmap16s27", "rdmap32s27"], 3), [0, 1, 2]);
        assert_eq!(first_cpus(&["rdmap160s27"], 3), [24, 25, 26]);
        let second_node: Vec<u32> = (24..48).chain(72..96).collect();
        assert_eq!(first_cpus(&["rdmap144s27", "rdmap160s27"], 48), second_node);
    }

    #[test]
    fn the_node_with_the_most_nics_comes_first_and_ties_go_to_the_first_rail() {
        assert_eq!(first_cpus(&["rdmap16s27", "rdmap144s27", "rdmap160s27"], 1), [24]);
        assert_eq!(first_cpus(&["rdmap144s27", "rdmap16s27"], 1), [24]);
        assert_eq!(first_cpus(&["rdmap16s27", "rdmap144s27"], 1), [0]);
    }

    #[test]
    fn uses_only_allowed_cpus_and_keeps_their_order_within_a_node() {
        let machine = machine("p4d.24xlarge");
        let on_second_node = machine
            .devices
            .iter()
            .filter(|device| device.numa_node == Some(1));
        let nics: Vec<Device> = on_second_node.cloned().collect();
        assert_eq!(nearest_cpus(&[3, 80, 1, 25], &nics, node_cpus), [80, 25, 3, 1]);
    }

    #[test]
    fn nics_without_a_node_do_not_change_the_order() {
        let nics = machine("soft-roce").devices;
        assert_eq!(nics.len(), 2);
        assert_eq!(nearest_cpus(&[3, 80, 1], &nics, node_cpus), [3, 80, 1]);
        assert_eq!(nearest_cpus(&[3, 80, 1], &[], node_cpus), [3, 80, 1]);
    }
}
