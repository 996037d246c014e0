//! Directory trees that imitate `/sys` and `/proc`, for tests.

pub(crate) mod machines;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use super::SystemRoots;

/// A tree in a temporary directory, removed on drop.
pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn roots(&self) -> SystemRoots {
        SystemRoots {
            sys: self.0.path().join("sys"),
            proc: self.0.path().join("proc"),
        }
    }

    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    /// Adds a PCI device below `sys/devices` and lists it on the PCI bus.
    pub(crate) fn pci(&self, path: &str, numa_node: i32) {
        self.file(&format!("sys/devices/{path}/numa_node"), &numa_node.to_string());
        let address = Path::new(path).file_name().unwrap().to_str().unwrap();
        self.link(
            &format!("sys/bus/pci/devices/{address}"),
            &format!("sys/devices/{path}"),
        );
    }

    /// Adds an RDMA device with the `efa` driver.
    pub(crate) fn rdma(&self, name: &str, path: &str, numa_node: i32, rate: &str) {
        self.pci(path, numa_node);
        self.file("sys/bus/pci/drivers/efa/module", "efa");
        self.link(&format!("sys/devices/{path}/driver"), "sys/bus/pci/drivers/efa");
        self.file(&format!("sys/class/infiniband/{name}/ports/1/rate"), rate);
        self.link(
            &format!("sys/class/infiniband/{name}/device"),
            &format!("sys/devices/{path}"),
        );
    }

    fn link(&self, link: &str, target: &str) {
        let link = self.0.path().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(self.0.path().join(target), link).unwrap();
    }
}
