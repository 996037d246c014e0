//! The GPUs and RDMA devices of a machine. [`Machine::read`] reads sysfs.

use std::fs;
use std::path::Path;

use super::{Device, DeviceClass, PciPath, SystemRoots, read_numa_node, read_text};

/// PCI vendor ID of NVIDIA.
const NVIDIA: &str = "0x10de";
/// Prefix of the PCI class of a display controller; server GPUs are 3D controllers (`0x0302`).
const DISPLAY_CONTROLLER: &str = "0x03";

/// The GPUs and RDMA devices of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// GPUs, in ascending PCI address order.
    pub gpus: Vec<Gpu>,
    /// The RDMA devices.
    pub devices: Vec<Device>,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Path in the PCI tree.
    pub pci: PciPath,
    /// NUMA node to which the GPU is attached, if the kernel reports it.
    pub numa_node: Option<u32>,
}

impl Machine {
    /// Returns the GPU at PCI address `address`.
    pub fn gpu(&self, address: &str) -> Option<&Gpu> {
        self.gpus.iter().find(|gpu| gpu.pci.address() == address)
    }

    /// Reads the devices of this machine. In a container, sysfs still lists all of them, including those that the
    /// container cannot open.
    pub fn read(roots: &SystemRoots) -> Self {
        let entries = fs::read_dir(roots.sys.join("bus/pci/devices"));
        let mut gpus: Vec<Gpu> = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| gpu(&entry.ok()?.path()))
            .collect();
        gpus.sort_by(|a, b| a.pci.address().cmp(b.pci.address()));
        Self {
            gpus,
            devices: Device::all(DeviceClass::Rdma, roots),
        }
    }
}

/// Returns the PCI device at `link` if it is a GPU.
fn gpu(link: &Path) -> Option<Gpu> {
    let has =
        |file: &str, prefix: &str| read_text(&link.join(file)).is_some_and(|text| text.starts_with(prefix));
    let is_gpu = has("vendor", NVIDIA) && has("class", DISPLAY_CONTROLLER);
    let directory = is_gpu.then(|| fs::canonicalize(link).ok()).flatten()?;
    Some(Gpu {
        pci: PciPath::from_directory(&directory)?,
        numa_node: read_numa_node(&directory),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn finds_gpus_by_vendor_and_class() {
        let tree = Tree::new();
        for (bus, vendor, class) in [
            ("53", "0x10de", "0x030200"),
            ("54", "0x10de", "0x068000"),
            ("55", "0x1d0f", "0x030000"),
        ] {
            let path = format!("pci0000:00/0000:{bus}:00.0");
            tree.pci(&path, 0);
            tree.file(&format!("sys/devices/{path}/vendor"), vendor);
            tree.file(&format!("sys/devices/{path}/class"), class);
        }
        tree.rdma("rdmap79s0", "pci0000:00/0000:4f:00.0", 0, "100 Gb/sec (4X EDR)");
        let machine = Machine::read(&tree.roots());
        let addresses: Vec<&str> = machine.gpus.iter().map(|gpu| gpu.pci.address()).collect();
        assert_eq!(addresses, ["0000:53:00.0"]);
        assert_eq!(machine.gpus[0].numa_node, Some(0));
        assert_eq!(machine.devices.len(), 1);
    }

    #[test]
    fn a_machine_without_pci_has_no_devices() {
        assert_eq!(Machine::read(&Tree::new().roots()), Machine::default());
    }
}
