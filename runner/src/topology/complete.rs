//! Adds rail facts that the library does not report: interface, PCI address, line rate, and the position of the device
//! relative to the memory. Reads sysfs.

use crds::record::{Locality, RailFacts};

use super::{Device, DeviceClass, Location, Machine, PciPath, SystemRoots, address, locality};

/// Sets the interface, PCI address, line rate and position of every rail that uses a device.
///
/// Values set by the transport are preserved, and rails without a device (shared memory) are not changed. `location` is
/// the location of the memory that the rails access; `None` if it is unknown.
pub fn complete_rail_facts(rails: &mut [RailFacts], location: Option<&Location>, roots: &SystemRoots) {
    let machine = match location {
        Some(Location::Gpu(_)) => Machine::read(roots),
        Some(Location::NumaNode(_)) | None => Machine::default(),
    };
    let (gpu, memory_numa_node) = match location {
        Some(Location::Gpu(address)) => (Some(address), machine.gpu(address).and_then(|gpu| gpu.numa_node)),
        Some(Location::NumaNode(node)) => (None, Some(*node)),
        None => (None, None),
    };
    for rail in rails {
        let Some(device) = find_device(rail, roots) else {
            continue;
        };
        if device.pci.is_some() {
            let position = location.map(|location| locality(&machine, location, &device));
            rail.locality = Some(position.unwrap_or(Locality::Unknown));
            rail.numa_node = device.numa_node;
            rail.gpu = gpu.cloned();
            rail.memory_numa_node = memory_numa_node;
        }
        if rail.pci.is_none() {
            rail.pci = device
                .pci
                .as_ref()
                .map(|path: &PciPath| path.address().to_owned());
        }
        rail.line_bits_per_second = rail.line_bits_per_second.or(device.line_bits_per_second);
        rail.interface.get_or_insert(device.name);
    }
}

/// Device of a rail: the interface in its facts, otherwise the RDMA device or interface after which its domain is named
/// (`rdmap79s0-rdm`, `mlx5_0`, `eth0`), otherwise the interface that has the rail's address.
fn find_device(rail: &RailFacts, roots: &SystemRoots) -> Option<Device> {
    let named = |name: &str| Device::named(name, roots);
    if let Some(interface) = &rail.interface {
        return named(interface);
    }
    let without_suffix = rail.domain.rsplit_once('-').map(|(device, _)| device);
    named(&rail.domain)
        .or_else(|| Device::find(DeviceClass::Rdma, without_suffix?, roots))
        .or_else(|| named(&address::interface_with(address::parse_ip(&rail.address)?)?))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    fn complete_facts(tree: &Tree, rail: RailFacts) -> RailFacts {
        locate(tree, rail, None)
    }

    fn locate(tree: &Tree, rail: RailFacts, location: Option<Location>) -> RailFacts {
        let mut rails = [rail];
        complete_rail_facts(&mut rails, location.as_ref(), &tree.roots());
        let [rail] = rails;
        rail
    }

    fn rail(domain: &str, address: &str) -> RailFacts {
        RailFacts {
            domain: domain.to_owned(),
            address: address.to_owned(),
            ..RailFacts::default()
        }
    }

    fn tree() -> Tree {
        let tree = Tree::new();
        tree.rdma("rdmap79s0", "pci0000:40/0000:4f:00.0", 0, "100 Gb/sec (4X EDR)");
        tree.file("sys/class/net/eth0/speed", "25000");
        tree.file("sys/class/net/lo/mtu", "65536");
        tree
    }

    #[test]
    fn finds_the_rdma_device_by_domain_name() {
        let rail = complete_facts(&tree(), rail("rdmap79s0-rdm", "fi_addr_efa://[fe80::1]:1:2"));
        assert_eq!(rail.interface.as_deref(), Some("rdmap79s0"));
        assert_eq!(rail.pci.as_deref(), Some("0000:4f:00.0"));
        assert_eq!(rail.line_bits_per_second, Some(100_000_000_000));
    }

    #[test]
    fn finds_the_interface_by_domain_name() {
        let rail = complete_facts(&tree(), rail("eth0", "192.0.2.1:1"));
        assert_eq!(
            (rail.interface.as_deref(), rail.line_bits_per_second),
            (Some("eth0"), Some(25_000_000_000))
        );
    }

    #[test]
    fn finds_the_interface_by_address() {
        let own = address::interface_with([127, 0, 0, 3].into()).unwrap();
        let tree = tree();
        tree.file(&format!("sys/class/net/{own}/mtu"), "65536");
        let rail = complete_facts(&tree, rail("127.0.0.0/8", "fi_sockaddr_in://127.0.0.3:7471"));
        assert_eq!(rail.interface, Some(own));
    }

    #[test]
    fn reports_the_position_of_a_pci_device() {
        let tree = tree();
        let domain = || rail("rdmap79s0", "");
        assert_eq!(locate(&tree, domain(), None).locality, Some(Locality::Unknown));
        let near = locate(&tree, domain(), Some(Location::NumaNode(0)));
        assert_eq!(
            (near.locality, near.numa_node, near.memory_numa_node),
            (Some(Locality::NumaNode), Some(0), Some(0))
        );
        let far = locate(&tree, domain(), Some(Location::NumaNode(1)));
        assert_eq!(far.locality, Some(Locality::Remote));
        let interface = locate(&tree, rail("lo", ""), Some(Location::NumaNode(0)));
        assert_eq!((interface.locality, interface.memory_numa_node), (None, None));
    }

    #[test]
    fn names_the_gpu_of_the_memory() {
        let tree = tree();
        let path = "pci0000:40/0000:53:00.0";
        tree.pci(path, 0);
        tree.file(&format!("sys/devices/{path}/vendor"), "0x10de");
        tree.file(&format!("sys/devices/{path}/class"), "0x030200");
        let location = Location::Gpu("0000:53:00.0".to_owned());
        let rail = locate(&tree, rail("rdmap79s0", ""), Some(location));
        assert_eq!(
            (rail.gpu.as_deref(), rail.locality),
            (Some("0000:53:00.0"), Some(Locality::PciRoot))
        );
    }

    #[test]
    fn shared_memory_has_no_interface() {
        let rail = complete_facts(&tree(), rail("shm", "fi_shm://1234"));
        assert_eq!(
            (rail.interface, rail.pci, rail.line_bits_per_second),
            (None, None, None)
        );
    }

    #[test]
    fn keeps_values_set_by_the_transport() {
        let known = RailFacts {
            interface: Some("eth0".to_owned()),
            line_bits_per_second: Some(1),
            ..rail("rdmap79s0-rdm", "")
        };
        assert_eq!(complete_facts(&tree(), known.clone()), known);
    }
}
