//! Network interfaces and RDMA devices. Reads sysfs.

use std::fs;
use std::path::{Path, PathBuf};

use super::{PciPath, SystemRoots, rate, text_of};

/// What the kernel lists a device as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceClass {
    /// A network interface (`/sys/class/net`).
    Interface,
    /// An RDMA device (`/sys/class/infiniband`); its port 1 is meant throughout.
    Rdma,
}

/// A network interface or RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// What it is listed as.
    pub class: DeviceClass,
    /// Its name, such as `eth0` or `rdmap79s0`.
    pub name: String,
    /// Its place in the PCI tree; nothing for software devices.
    pub pci: Option<PciPath>,
    /// Name of its kernel driver, such as `efa` or `mlx5_core`.
    pub driver: Option<String>,
    /// NUMA node it hangs at, where the kernel knows.
    pub numa_node: Option<u32>,
    /// Rate of its link in bits a second, where the kernel knows.
    pub line_bits_per_second: Option<u64>,
}

impl DeviceClass {
    fn folder(self, roots: &SystemRoots) -> PathBuf {
        roots.sys.join("class").join(match self {
            Self::Interface => "net",
            Self::Rdma => "infiniband",
        })
    }
}

impl Device {
    /// The device of this name; nothing where there is none.
    pub fn find(class: DeviceClass, name: &str, roots: &SystemRoots) -> Option<Self> {
        // A name is one part of a path; anything else would leave the class's folder.
        if name.is_empty() || name.starts_with('.') || name.contains('/') {
            return None;
        }
        let folder = class.folder(roots).join(name);
        if !folder.is_dir() {
            return None;
        }
        let hardware = fs::canonicalize(folder.join("device")).ok();
        let driver = fs::canonicalize(folder.join("device/driver")).ok();
        Some(Self {
            class,
            name: name.to_owned(),
            pci: hardware.as_deref().and_then(PciPath::of_folder),
            driver: driver
                .as_deref()
                .and_then(Path::file_name)
                .and_then(|name| Some(name.to_str()?.to_owned())),
            // The kernel writes -1 where it does not know.
            numa_node: text_of(&folder.join("device/numa_node")).and_then(|text| text.parse().ok()),
            line_bits_per_second: match class {
                DeviceClass::Interface => text_of(&folder.join("speed"))
                    .as_deref()
                    .and_then(rate::of_interface),
                DeviceClass::Rdma => text_of(&folder.join("ports/1/rate"))
                    .as_deref()
                    .and_then(rate::of_port),
            },
        })
    }

    /// All devices of a class, by name.
    pub fn all(class: DeviceClass, roots: &SystemRoots) -> Vec<Self> {
        let mut names: Vec<String> = fs::read_dir(class.folder(roots))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
            .iter()
            .filter_map(|name| Self::find(class, name, roots))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Tree;
    use super::*;

    #[test]
    fn an_rdma_device_is_read_whole() {
        let tree = Tree::new();
        tree.rdma(
            "rdmap79s0",
            "pci0000:40/0000:40:01.0/0000:4f:00.0",
            1,
            "100 Gb/sec (4X EDR)",
        );
        let device = Device::find(DeviceClass::Rdma, "rdmap79s0", &tree.roots()).unwrap();
        assert_eq!(device.pci.as_ref().unwrap().address(), "0000:4f:00.0");
        assert_eq!(device.driver.as_deref(), Some("efa"));
        assert_eq!(device.numa_node, Some(1));
        assert_eq!(device.line_bits_per_second, Some(100_000_000_000));
    }

    #[test]
    fn a_software_interface_has_neither_place_nor_rate() {
        let tree = Tree::new();
        tree.file("sys/class/net/lo/statistics/tx_bytes", "1");
        let device = Device::find(DeviceClass::Interface, "lo", &tree.roots()).unwrap();
        assert_eq!(
            (device.pci, device.numa_node, device.line_bits_per_second),
            (None, None, None)
        );
    }

    #[test]
    fn names_that_are_no_devices_are_not_found() {
        let tree = Tree::new();
        tree.file("sys/class/net/lo/speed", "10");
        for name in ["", ".", "..", "eth0", "../net/lo"] {
            assert_eq!(
                Device::find(DeviceClass::Interface, name, &tree.roots()),
                None,
                "{name}"
            );
        }
    }

    #[test]
    fn a_machine_without_the_class_has_none() {
        assert_eq!(Device::all(DeviceClass::Rdma, &Tree::new().roots()), []);
    }
}
