//! Adds rail facts that the library does not report: interface, PCI address and line rate. Reads sysfs.

use crds::record::{FabricFacts, RailFacts};

use super::{Device, DeviceClass, PciPath, SystemRoots, address};

/// Sets the interface, PCI address and line rate of every rail that uses a device.
///
/// Values set by the transport are kept, and rails without a device (shared memory) are not changed.
pub fn complete_rail_facts(facts: &mut FabricFacts, roots: &SystemRoots) {
    for rail in &mut facts.rails {
        if let Some(device) = find_device(rail, roots) {
            rail.interface.get_or_insert(device.name);
            if rail.pci.is_none() {
                rail.pci = device
                    .pci
                    .as_ref()
                    .map(|path: &PciPath| path.address().to_owned());
            }
            rail.line_bits_per_second = rail.line_bits_per_second.or(device.line_bits_per_second);
        }
    }
}

/// Device of a rail: the interface in its facts, otherwise the RDMA device or interface after which its domain is named
/// (`rdmap79s0-rdm`, `mlx5_0`, `eth0`), otherwise the interface that has its address.
fn find_device(rail: &RailFacts, roots: &SystemRoots) -> Option<Device> {
    let named = |name: &str| {
        Device::find(DeviceClass::Rdma, name, roots)
            .or_else(|| Device::find(DeviceClass::Interface, name, roots))
    };
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

    fn completed(tree: &Tree, rail: RailFacts) -> RailFacts {
        let mut facts = FabricFacts {
            rails: vec![rail],
            ..FabricFacts::default()
        };
        complete_rail_facts(&mut facts, &tree.roots());
        facts.rails.remove(0)
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
        let rail = completed(&tree(), rail("rdmap79s0-rdm", "fi_addr_efa://[fe80::1]:1:2"));
        assert_eq!(rail.interface.as_deref(), Some("rdmap79s0"));
        assert_eq!(rail.pci.as_deref(), Some("0000:4f:00.0"));
        assert_eq!(rail.line_bits_per_second, Some(100_000_000_000));
    }

    #[test]
    fn finds_the_interface_by_domain_name() {
        let rail = completed(&tree(), rail("eth0", "192.0.2.1:1"));
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
        let rail = completed(&tree, rail("127.0.0.0/8", "fi_sockaddr_in://127.0.0.3:7471"));
        assert_eq!(rail.interface, Some(own));
    }

    #[test]
    fn shared_memory_has_no_interface() {
        let rail = completed(&tree(), rail("shm", "fi_shm://1234"));
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
        assert_eq!(completed(&tree(), known.clone()), known);
    }
}
