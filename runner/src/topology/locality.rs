//! Position of a NIC relative to the memory that it accesses. Performs no I/O.
//!
//! A transfer between a NIC and a GPU below different PCI root complexes passes through the CPU, which limits its
//! throughput.

use crds::record::{Locality, RailFacts};
use crds::v1alpha1::Alignment;

use super::{Device, Location, Machine, PciPath};

/// Position of `nic` relative to the memory at `location`.
///
/// Some virtual machines expose all devices below one root complex. A common root complex is therefore ignored if the
/// NUMA nodes of the GPU and the NIC differ, or if the machine has several GPUs and all of them are below it.
pub fn locality(machine: &Machine, location: &Location, nic: &Device) -> Locality {
    match location {
        Location::NumaNode(node) => compare_nodes(Some(*node), nic.numa_node),
        Location::Gpu(address) => {
            let Some(gpu) = machine.gpu(address) else {
                return Locality::Unknown;
            };
            let below_root = |path: &PciPath| gpu.pci.hops(path).is_some();
            let root_separates =
                machine.gpus.len() == 1 || machine.gpus.iter().any(|other| !below_root(&other.pci));
            match compare_nodes(gpu.numa_node, nic.numa_node) {
                Locality::Remote => Locality::Remote,
                _ if root_separates && nic.pci.as_ref().is_some_and(below_root) => Locality::PciRoot,
                position => position,
            }
        }
    }
}

fn compare_nodes(memory: Option<u32>, nic: Option<u32>) -> Locality {
    match (memory, nic) {
        (Some(memory), Some(nic)) if memory == nic => Locality::NumaNode,
        (Some(_), Some(_)) => Locality::Remote,
        (None, _) | (_, None) => Locality::Unknown,
    }
}

/// Describes the first rail that does not meet `align`, and how to fix it; `None` if all rails meet it.
///
/// A rail without a PCI device, or with a device in an unknown position, meets only `Alignment::None`.
pub fn alignment_problem(rails: &[RailFacts], align: Alignment) -> Option<String> {
    let (number, rail) = rails
        .iter()
        .enumerate()
        .find(|(_, rail)| !meets_alignment(rail, align))?;
    let nic = rail.interface.as_deref().unwrap_or(&rail.domain);
    let memory = match &rail.gpu {
        Some(gpu) => format!("GPU {gpu}"),
        None => "the host memory".to_owned(),
    };
    let position = match rail.locality {
        None => format!("rail {number} ({nic}) does not use a PCI device"),
        Some(Locality::Unknown) => {
            format!("the kernel does not report the positions of {nic} (rail {number}) and {memory}")
        }
        Some(Locality::Remote) => {
            format!("{nic} (rail {number}) and {memory} are on different NUMA nodes")
        }
        Some(Locality::NumaNode | Locality::PciRoot) => format!(
            "{nic} (rail {number}) and {memory} are on the same NUMA node, but they are not known to share a PCI root \
             complex that excludes other GPUs"
        ),
    };
    let weaker = match align {
        Alignment::PciRoot => "align: NumaNode or None",
        Alignment::None | Alignment::NumaNode => "align: None",
    };
    Some(format!(
        "{position}. Request fewer rails, name other devices (spec.devices), or use {weaker}"
    ))
}

fn meets_alignment(rail: &RailFacts, align: Alignment) -> bool {
    match align {
        Alignment::None => true,
        Alignment::NumaNode => matches!(rail.locality, Some(Locality::PciRoot | Locality::NumaNode)),
        Alignment::PciRoot => match rail.gpu {
            Some(_) => rail.locality == Some(Locality::PciRoot),
            None => rail.locality == Some(Locality::NumaNode),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DeviceClass, Gpu};
    use super::*;

    #[test]
    fn different_numa_nodes_override_a_common_root_complex() {
        let path = |path: &str| PciPath::from_directory(std::path::Path::new(path)).unwrap();
        let machine = Machine {
            gpus: vec![Gpu {
                pci: path("/sys/devices/pci0000:00/0000:53:00.0"),
                numa_node: Some(0),
            }],
            devices: Vec::new(),
        };
        let gpu = Location::Gpu("0000:53:00.0".to_owned());
        for (numa_node, position) in [
            (Some(1), Locality::Remote),
            (Some(0), Locality::PciRoot),
            (None, Locality::PciRoot),
        ] {
            let nic = Device {
                class: DeviceClass::Rdma,
                name: "rdmap79s0".to_owned(),
                driver: None,
                pci: Some(path("/sys/devices/pci0000:00/0000:4f:00.0")),
                numa_node,
                line_bits_per_second: None,
            };
            assert_eq!(locality(&machine, &gpu, &nic), position, "{numa_node:?}");
        }
    }

    fn rail(gpu: Option<&str>, locality: Option<Locality>) -> RailFacts {
        RailFacts {
            interface: Some("rdmap79s0".to_owned()),
            gpu: gpu.map(str::to_owned),
            locality,
            ..RailFacts::default()
        }
    }

    #[test]
    fn accepts_only_known_positions() {
        use Alignment::{None as Any, NumaNode, PciRoot};
        let gpu = Some("0000:53:00.0");
        for (gpu, locality, accepted) in [
            (gpu, Some(Locality::PciRoot), &[Any, NumaNode, PciRoot][..]),
            (gpu, Some(Locality::NumaNode), &[Any, NumaNode]),
            (gpu, Some(Locality::Remote), &[Any]),
            (gpu, Some(Locality::Unknown), &[Any]),
            (gpu, None, &[Any]),
            (None, Some(Locality::NumaNode), &[Any, NumaNode, PciRoot]),
            (None, Some(Locality::Unknown), &[Any]),
        ] {
            for align in [Any, NumaNode, PciRoot] {
                let problem = alignment_problem(&[rail(gpu, locality)], align);
                assert_eq!(problem.is_none(), accepted.contains(&align), "{problem:?}");
            }
        }
    }

    #[test]
    fn names_the_rail_and_the_fix() {
        let rails = [
            rail(Some("0000:53:00.0"), Some(Locality::PciRoot)),
            rail(Some("0000:53:00.0"), Some(Locality::Remote)),
        ];
        assert_eq!(
            alignment_problem(&rails, Alignment::PciRoot).unwrap(),
            "rdmap79s0 (rail 1) and GPU 0000:53:00.0 are on different NUMA nodes. Request fewer rails, name other devices \
             (spec.devices), or use align: NumaNode or None"
        );
    }
}
