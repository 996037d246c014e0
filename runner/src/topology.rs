//! Topology of a fabric's rails: interfaces, PCI devices, line rates and byte counters. Reads sysfs and procfs at
//! configurable mount points, so that tests can substitute directory trees; parsing and selection perform no I/O.

mod address;
mod complete;
pub mod counters;
mod cpus;
mod device;
mod locality;
mod machine;
mod nearest;
mod pci;
mod rate;

use std::fs;
use std::path::{Path, PathBuf};

pub use address::{address_of, addresses, interface_with};
pub use complete::complete_rail_facts;
pub use cpus::nearest_cpus;
pub use device::{Device, DeviceClass};
pub use locality::{alignment_problem, locality};
pub use machine::{Gpu, Machine};
pub use nearest::{Location, nearest};
pub use pci::PciPath;

/// Mount points of sysfs and procfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemRoots {
    /// Mount point of sysfs.
    pub sys: PathBuf,
    /// Mount point of procfs.
    pub proc: PathBuf,
}

impl Default for SystemRoots {
    fn default() -> Self {
        Self {
            sys: PathBuf::from("/sys"),
            proc: PathBuf::from("/proc"),
        }
    }
}

/// Trimmed content of a kernel file.
///
/// `None` if the file does not exist or cannot be read. For example, the speed of an interface without a link cannot be
/// read.
fn read_text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

/// NUMA node of the device with this sysfs directory; `None` if the kernel does not report it (the file then contains
/// -1).
fn read_numa_node(directory: &Path) -> Option<u32> {
    read_text(&directory.join("numa_node"))?.parse().ok()
}

#[cfg(test)]
pub(crate) mod fixture;
