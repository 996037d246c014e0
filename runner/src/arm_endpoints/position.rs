//! Positions of an arm's NICs relative to the memory that they access. Reads sysfs.

use crds::record::{FailureReason, Locality, RailFacts};
use crds::v1alpha1::{Alignment, Devices};

use crate::topology::{self, Device, DeviceClass, Location, SystemRoots};
use crate::transport::TransportError;

/// Completes the facts about the rails of a thread. `memory` contains the location of each kind of memory that the
/// thread uses, or `None` if the location is unknown. The positions in the returned facts are relative to the first
/// kind.
///
/// # Errors
/// Returns `NotAligned` if the position of any rail relative to any kind of memory does not meet `align`. If `memory`
/// is empty, there is no requirement.
pub(super) fn complete(
    rails: &[RailFacts],
    memory: &[Option<Location>],
    align: Alignment,
    roots: &SystemRoots,
) -> Result<Vec<RailFacts>, TransportError> {
    let relative_to = |location: Option<&Location>| {
        let mut rails = rails.to_vec();
        topology::complete_rail_facts(&mut rails, location, roots);
        rails
    };
    let mut first = None;
    for location in memory {
        let rails = relative_to(location.as_ref());
        if let Some(message) = topology::alignment_problem(&rails, align) {
            return Err(TransportError {
                reason: FailureReason::NotAligned,
                operation: "placement.align",
                message,
            });
        }
        first.get_or_insert(rails);
    }
    Ok(first.unwrap_or_else(|| relative_to(None)))
}

/// Replaces the facts of each rail with those in `other` if the position in `other` is worse. The positions in `other`
/// are relative to the memory of another thread.
pub(super) fn keep_worst(rails: &mut [RailFacts], other: Vec<RailFacts>) {
    for (rail, other) in rails.iter_mut().zip(other) {
        if distance(other.locality) > distance(rail.locality) {
            *rail = other;
        }
    }
}

fn distance(locality: Option<Locality>) -> u8 {
    match locality {
        None | Some(Locality::PciRoot) => 0,
        Some(Locality::NumaNode) => 1,
        Some(Locality::Unknown) => 2,
        Some(Locality::Remote) => 3,
    }
}

/// Describes the first RDMA device that the rails of more than one GPU use; `None` if there is no such device. `rails`
/// contains the rails of each element of `devices.gpus`, in that order.
///
/// These GPUs' transfers would share the device's bandwidth. Network interfaces may be shared: providers such as tcp
/// use one interface for any number of endpoints.
pub(super) fn shared_device(rails: &[RailFacts], devices: &Devices, roots: &SystemRoots) -> Option<String> {
    let rails_per_gpu = rails.len().checked_div(devices.gpus.len())?.max(1);
    for (index, rail) in rails.iter().enumerate() {
        let earlier = &rails[..index / rails_per_gpu * rails_per_gpu];
        let same = |other: &&RailFacts| other.interface.is_some() && other.interface == rail.interface;
        let Some(number) = earlier.iter().position(|other| same(&other)) else {
            continue;
        };
        let Some(device) = Device::find(DeviceClass::Rdma, rail.interface.as_deref()?, roots) else {
            continue;
        };
        let gpu = |rail: usize| devices.gpus.get(rail / rails_per_gpu).copied().unwrap_or(0);
        return Some(format!(
            "GPU {} and GPU {} would share {}: use fewer rails, or name separate NICs for each GPU (spec.devices.nics)",
            gpu(number),
            gpu(index),
            device.name
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::fixture::Tree;

    fn rail(domain: &str) -> RailFacts {
        RailFacts {
            domain: domain.to_owned(),
            ..RailFacts::default()
        }
    }

    fn tree() -> Tree {
        let tree = Tree::new();
        tree.rdma("near", "pci0000:40/0000:4f:00.0", 0, "100 Gb/sec (4X EDR)");
        tree.rdma("far", "pci0000:80/0000:8f:00.0", 1, "100 Gb/sec (4X EDR)");
        tree.file("sys/class/net/lo/mtu", "65536");
        tree
    }

    fn node(number: u32) -> Option<Location> {
        Some(Location::NumaNode(number))
    }

    #[test]
    fn every_kind_of_memory_must_be_aligned() {
        let tree = tree();
        let roots = tree.roots();
        for (memory, accepted) in [
            (vec![node(0)], true),
            (vec![node(0), node(1)], false),
            (vec![node(0), None], false),
            (vec![], true),
        ] {
            let completed = complete(&[rail("near")], &memory, Alignment::NumaNode, &roots);
            let reason = completed.map(|_| ()).map_err(|error| error.reason);
            let expected = if accepted {
                Ok(())
            } else {
                Err(FailureReason::NotAligned)
            };
            assert_eq!(reason, expected, "{memory:?}");
        }
    }

    #[test]
    fn position_is_relative_to_the_first_memory_kind_of_the_worst_thread() {
        let tree = tree();
        let roots = tree.roots();
        let of_thread = |memory: Vec<_>| {
            complete(&[rail("near"), rail("far")], &memory, Alignment::None, &roots).unwrap()
        };
        let mut rails = of_thread(vec![node(0), None]);
        let positions = |rails: &[RailFacts]| -> Vec<_> {
            let position = |rail: &RailFacts| (rail.locality, rail.memory_numa_node);
            rails.iter().map(position).collect()
        };
        let (same, remote) = (Some(Locality::NumaNode), Some(Locality::Remote));
        assert_eq!(positions(&rails), [(same, Some(0)), (remote, Some(0))]);
        keep_worst(&mut rails, of_thread(vec![node(1)]));
        assert_eq!(positions(&rails), [(remote, Some(1)), (remote, Some(0))]);
    }

    #[test]
    fn names_the_gpus_that_share_a_device() {
        let tree = tree();
        let roots = tree.roots();
        let devices = |gpus: &[u32]| Devices {
            gpus: gpus.to_vec(),
            ..Devices::default()
        };
        let shared = |domains: &[&str], gpus: &[u32]| {
            let rails: Vec<_> = domains.iter().map(|domain| rail(domain)).collect();
            let rails = complete(&rails, &[], Alignment::None, &roots).unwrap();
            shared_device(&rails, &devices(gpus), &roots)
        };
        assert_eq!(
            shared(&["near", "near"], &[4, 6]).unwrap(),
            "GPU 4 and GPU 6 would share near: use fewer rails, or name separate NICs for each GPU (spec.devices.nics)"
        );
        assert_eq!(shared(&["near", "far"], &[4, 6]), None);
        assert_eq!(shared(&["near", "near"], &[]), None);
        assert_eq!(shared(&["lo", "lo"], &[0, 1]), None);
    }
}
