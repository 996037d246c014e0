//! Topology of the rails of a fabric: interfaces, PCI devices, line rates and byte counters. Reads `/sys` and `/proc`
//! below configurable roots, so that tests can use directory trees; parsing and selection perform no I/O.

mod address;
mod complete;
pub mod counters;
mod device;
mod pci;
mod rails;
mod rate;

use std::fs;
use std::path::{Path, PathBuf};

use crds::record::FailureReason;
use snafu::Snafu;

pub use complete::complete_rail_facts;
pub use device::{Device, DeviceClass};
pub use pci::PciPath;
pub use rails::{Near, choose, nearest_devices};

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

/// Reason devices cannot be assigned to rails.
#[derive(Clone, Debug, Snafu, PartialEq, Eq)]
pub enum TopologyError {
    /// The number of rails exceeds the number of NICs.
    #[snafu(display(
        "{rails} rails are requested, but this machine has {} {driver} devices ({}): request fewer rails, or more \
         devices in the resources of the run",
        found.len(),
        if found.is_empty() { "none".to_owned() } else { found.join(", ") }
    ))]
    TooFewDevices {
        /// Number of requested rails.
        rails: usize,
        /// Kernel driver of the devices considered.
        driver: String,
        /// Names of the devices found.
        found: Vec<String>,
    },
}

impl TopologyError {
    /// Reason that a record reports for this error.
    pub fn reason(&self) -> FailureReason {
        match self {
            Self::TooFewDevices { .. } => FailureReason::NoDevice,
        }
    }
}

/// Trimmed content of a kernel file.
///
/// `None` if the file does not exist or cannot be read, such as the speed of an interface without a link.
fn read_text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod fixture;
