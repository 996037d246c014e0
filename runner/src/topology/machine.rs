//! The GPUs and RDMA devices of a machine. [`Machine::read`] reads sysfs.

use std::fs;
use std::path::Path;

use super::{Device, DeviceClass, PciPath, SystemRoots, read_text};

/// PCI vendor ID of NVIDIA.
const NVIDIA: &str = "0x10de";
/// Prefix of the PCI class of a display controller; the GPUs of servers are 3D controllers (`0x0302`).
const DISPLAY_CONTROLLER: &str = "0x03";

/// The GPUs and RDMA devices of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Paths of the GPUs in the PCI tree, in ascending order of their addresses.
    pub gpus: Vec<PciPath>,
    /// The RDMA devices.
    pub devices: Vec<Device>,
}

impl Machine {
    /// Reads the devices of this machine. A container sees all of them, even those that it must not open.
    pub fn read(roots: &SystemRoots) -> Self {
        let entries = fs::read_dir(roots.sys.join("bus/pci/devices"));
        let mut gpus: Vec<PciPath> = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| gpu(&entry.ok()?.path()))
            .collect();
        gpus.sort_by(|a, b| a.address().cmp(b.address()));
        Self {
            gpus,
            devices: Device::all(DeviceClass::Rdma, roots),
        }
    }
}

/// Path of the PCI device at `link` if it is a GPU.
fn gpu(link: &Path) -> Option<PciPath> {
    let has =
        |file: &str, prefix: &str| read_text(&link.join(file)).is_some_and(|text| text.starts_with(prefix));
    let is_gpu = has("vendor", NVIDIA) && has("class", DISPLAY_CONTROLLER);
    is_gpu
        .then(|| fs::canonicalize(link).ok())
        .flatten()
        .as_deref()
        .and_then(PciPath::from_directory)
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
        let addresses: Vec<&str> = machine.gpus.iter().map(PciPath::address).collect();
        assert_eq!(addresses, ["0000:53:00.0"]);
        assert_eq!(machine.devices.len(), 1);
    }

    #[test]
    fn a_machine_without_pci_has_no_devices() {
        assert_eq!(Machine::read(&Tree::new().roots()), Machine::default());
    }
}
