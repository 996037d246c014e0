//! Selects the devices nearest to given memory. [`choose`] performs no I/O; [`nearest_devices`] reads sysfs.

use std::cmp::Reverse;
use std::fs;

use snafu::ensure;

use super::{Device, DeviceClass, PciPath, SystemRoots, TooFewDevicesSnafu, TopologyError};
use crate::memory::Memory;

/// Location to which the rails should be close.
#[derive(Clone, Copy, Debug)]
pub enum Near<'a> {
    /// A GPU, by its path in the PCI tree and its NUMA node.
    Gpu(&'a PciPath, Option<u32>),
    /// Host memory, by its NUMA node.
    Host(Option<u32>),
}

/// The `rails` RDMA devices with kernel driver `driver` (such as `efa`) nearest to `memory`, nearest first.
///
/// # Errors
/// [`TopologyError::TooFewDevices`] if there are fewer devices than rails.
pub fn nearest_devices(
    memory: &Memory,
    driver: &str,
    rails: usize,
    roots: &SystemRoots,
) -> Result<Vec<Device>, TopologyError> {
    let mut devices = Device::all(DeviceClass::Rdma, roots);
    devices.retain(|device| device.driver.as_deref() == Some(driver));
    let gpu = memory.pci().and_then(|address| {
        let directory = roots.sys.join("bus/pci/devices").join(address);
        let node = super::read_text(&directory.join("numa_node")).and_then(|text| text.parse().ok());
        Some((PciPath::from_directory(&fs::canonicalize(directory).ok()?)?, node))
    });
    let near = match &gpu {
        Some((path, node)) => Near::Gpu(path, *node),
        None => Near::Host(memory.numa_node()),
    };
    choose(driver, rails, near, devices)
}

/// The `rails` devices nearest to `near`, nearest first: by steps in the PCI tree, then by NUMA node, then by bus
/// number.
///
/// # Errors
/// [`TopologyError::TooFewDevices`] if there are fewer devices than rails.
pub fn choose(
    driver: &str,
    rails: usize,
    near: Near<'_>,
    mut devices: Vec<Device>,
) -> Result<Vec<Device>, TopologyError> {
    ensure!(
        devices.len() >= rails,
        TooFewDevicesSnafu {
            rails,
            driver,
            found: devices.into_iter().map(|device| device.name).collect::<Vec<_>>(),
        }
    );
    devices.sort_by_cached_key(|device| {
        let (hops, node, buses) = match near {
            Near::Gpu(gpu, node) => (
                device.pci.as_ref().and_then(|path| gpu.hops(path)),
                node,
                device.pci.as_ref().map(|path| gpu.bus_distance(path)),
            ),
            Near::Host(node) => (None, node, None),
        };
        let same_node = node.is_some() && node == device.numa_node;
        (
            hops.unwrap_or(usize::MAX),
            Reverse(same_node),
            buses.unwrap_or(u64::MAX),
            device.pci.as_ref().map(|path| path.address().to_owned()),
            device.name.clone(),
        )
    });
    devices.truncate(rails);
    Ok(devices)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crds::record::FailureReason;
    use crds::v1alpha1::MemoryKind;

    use super::super::fixture::Tree;
    use super::*;

    /// Bus numbers of the GPUs of a p5 instance. The four NICs of each GPU have the four bus numbers before the GPU's.
    const GPU_BUSES: [u32; 8] = [0x53, 0x64, 0x75, 0x86, 0x97, 0xa8, 0xb9, 0xca];

    /// A p5 instance: 8 GPUs with four NICs each. `switches` is true if the bridges between the devices are visible.
    fn p5(switches: bool) -> Tree {
        let tree = Tree::new();
        for (gpu, bus) in GPU_BUSES.into_iter().enumerate() {
            let node = i32::from(gpu >= 4);
            let parent = if switches {
                format!("pci0000:{:02x}/0000:{:02x}:01.0", bus & 0xf0, bus & 0xf0)
            } else {
                "pci0000:00".to_owned()
            };
            tree.pci(&format!("{parent}/0000:{bus:02x}:00.0"), node);
            for nic in bus - 4..bus {
                tree.rdma(
                    &format!("rdmap{nic}s0"),
                    &format!("{parent}/0000:{nic:02x}:00.0"),
                    node,
                    "100 Gb/sec (4X EDR)",
                );
            }
        }
        tree
    }

    fn gpu(tree: &Tree, bus: u32) -> PciPath {
        let link = tree
            .roots()
            .sys
            .join(format!("bus/pci/devices/0000:{bus:02x}:00.0"));
        PciPath::from_directory(&fs::canonicalize(link).unwrap()).unwrap()
    }

    #[test]
    fn selects_the_four_nics_of_each_gpu_of_a_p5() {
        for switches in [true, false] {
            let tree = p5(switches);
            for bus in GPU_BUSES {
                let devices = Device::all(DeviceClass::Rdma, &tree.roots());
                assert_eq!(devices.len(), 32);
                let chosen = choose("efa", 4, Near::Gpu(&gpu(&tree, bus), None), devices).unwrap();
                let mut names: Vec<String> = chosen.into_iter().map(|device| device.name).collect();
                names.sort_unstable();
                let mut own: Vec<String> = (bus - 4..bus).map(|nic| format!("rdmap{nic}s0")).collect();
                own.sort_unstable();
                assert_eq!(names, own, "switches visible: {switches}");
            }
        }
    }

    #[test]
    fn prefers_devices_on_the_node_of_host_memory() {
        let devices = Device::all(DeviceClass::Rdma, &p5(true).roots());
        let chosen = choose("efa", 16, Near::Host(Some(1)), devices).unwrap();
        assert!(chosen.iter().all(|device| device.numa_node == Some(1)));
    }

    #[test]
    fn reports_both_numbers_if_rails_outnumber_devices() {
        let tree = Tree::new();
        tree.rdma("rdmap0s6", "pci0000:00/0000:00:06.0", 0, "100 Gb/sec (4X EDR)");
        let memory = Memory::allocate(MemoryKind::Heap, 1).unwrap();
        let error = nearest_devices(&memory, "efa", 4, &tree.roots()).unwrap_err();
        assert_eq!(error.reason(), FailureReason::NoDevice);
        let text = error.to_string();
        assert!(
            text.contains("4 rails") && text.contains("1 efa devices (rdmap0s6)"),
            "{text}"
        );
    }

    #[test]
    fn ignores_devices_with_other_drivers() {
        let tree = p5(true);
        let memory = Memory::allocate(MemoryKind::Heap, 1).unwrap();
        let error = nearest_devices(&memory, "mlx5_core", 1, &tree.roots()).unwrap_err();
        assert!(
            error.to_string().contains("0 mlx5_core devices (none)"),
            "{error}"
        );
        assert_eq!(
            nearest_devices(&memory, "efa", 4, &tree.roots()).unwrap().len(),
            4
        );
    }

    #[test]
    fn sorts_devices_without_a_pci_path_last() {
        let path = PciPath::from_directory(Path::new("/pci0000:00/0000:00:05.0")).unwrap();
        let device = |name: &str, pci| Device {
            class: DeviceClass::Rdma,
            name: name.to_owned(),
            pci,
            driver: None,
            numa_node: None,
            line_bits_per_second: None,
        };
        let devices = vec![device("a", None), device("b", Some(path.clone()))];
        let chosen = choose("any", 2, Near::Gpu(&path, None), devices).unwrap();
        assert_eq!(chosen[0].name, "b");
    }
}
