//! Network interfaces and RDMA devices. Reads sysfs.

use std::fs;
use std::path::{Path, PathBuf};

use super::{PciPath, SystemRoots, rate, read_numa_node, read_text};

/// Device class in sysfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceClass {
    /// A network interface (`/sys/class/net`).
    Interface,
    /// An RDMA device (`/sys/class/infiniband`). Only port 1 is used.
    Rdma,
}

/// A network interface or RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Device class.
    pub class: DeviceClass,
    /// Device name, such as `eth0` or `rdmap79s0`.
    pub name: String,
    /// Path in the PCI tree; `None` for software devices.
    pub pci: Option<PciPath>,
    /// Name of the kernel driver, such as `efa` or `mlx5_core`.
    pub driver: Option<String>,
    /// NUMA node to which the device is attached, if the kernel reports it.
    pub numa_node: Option<u32>,
    /// Link rate in bits per second, if the kernel reports it.
    pub line_bits_per_second: Option<u64>,
}

impl DeviceClass {
    fn directory(self, roots: &SystemRoots) -> PathBuf {
        roots.sys.join("class").join(match self {
            Self::Interface => "net",
            Self::Rdma => "infiniband",
        })
    }
}

impl Device {
    /// Finds the device with this name; `None` if it does not exist.
    pub fn find(class: DeviceClass, name: &str, roots: &SystemRoots) -> Option<Self> {
        // A name must be a single path component; anything else could escape the class directory.
        if name.is_empty() || name.starts_with('.') || name.contains('/') {
            return None;
        }
        let directory = class.directory(roots).join(name);
        if !directory.is_dir() {
            return None;
        }
        let hardware = fs::canonicalize(directory.join("device")).ok();
        let driver = fs::canonicalize(directory.join("device/driver")).ok();
        Some(Self {
            class,
            name: name.to_owned(),
            pci: hardware.as_deref().and_then(PciPath::from_directory),
            driver: driver
                .as_deref()
                .and_then(Path::file_name)
                .and_then(|name| Some(name.to_str()?.to_owned())),
            numa_node: read_numa_node(&directory.join("device")),
            line_bits_per_second: match class {
                DeviceClass::Interface => read_text(&directory.join("speed"))
                    .as_deref()
                    .and_then(rate::parse_interface_speed),
                // A software device has no hardware below it, and the rate that it reports does not limit it.
                DeviceClass::Rdma if hardware.is_none() => None,
                DeviceClass::Rdma => read_text(&directory.join("ports/1/rate"))
                    .as_deref()
                    .and_then(rate::parse_port_rate),
            },
        })
    }

    /// Finds the RDMA device with this name, otherwise the network interface; `None` if neither exists.
    pub fn named(name: &str, roots: &SystemRoots) -> Option<Self> {
        Self::find(DeviceClass::Rdma, name, roots).or_else(|| Self::find(DeviceClass::Interface, name, roots))
    }

    /// All devices of a class, sorted by name.
    pub fn all(class: DeviceClass, roots: &SystemRoots) -> Vec<Self> {
        let mut names: Vec<String> = fs::read_dir(class.directory(roots))
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
    fn reads_all_properties_of_an_rdma_device() {
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
    fn a_software_interface_has_no_pci_path_and_no_rate() {
        let tree = Tree::new();
        tree.file("sys/class/net/lo/statistics/tx_bytes", "1");
        let device = Device::find(DeviceClass::Interface, "lo", &tree.roots()).unwrap();
        assert_eq!(
            (device.pci, device.numa_node, device.line_bits_per_second),
            (None, None, None)
        );
    }

    #[test]
    fn rate_of_a_software_rdma_device_is_unknown() {
        let tree = Tree::new();
        tree.file("sys/class/infiniband/rxe0/ports/1/rate", "10 Gb/sec (1X FDR10)");
        let device = Device::find(DeviceClass::Rdma, "rxe0", &tree.roots()).unwrap();
        assert_eq!((device.pci, device.line_bits_per_second), (None, None));
    }

    #[test]
    fn does_not_find_invalid_or_unknown_names() {
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
    fn finds_no_devices_without_the_class_directory() {
        assert_eq!(Device::all(DeviceClass::Rdma, &Tree::new().roots()), []);
    }
}
