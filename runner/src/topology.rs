//! Where the rails of a fabric run: interfaces, PCI devices, line rates and byte counters. Reads `/sys` and `/proc`
//! below given roots, so that every rule is tested on trees of files; parsing and choosing are pure.

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

pub use complete::complete;
pub use device::{Device, DeviceClass};
pub use pci::PciPath;
pub use rails::{Near, choose, nearest_devices};

/// Where the kernel shows itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemRoots {
    /// The mounted sysfs.
    pub sys: PathBuf,
    /// The mounted procfs.
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

/// Why rails cannot be laid.
#[derive(Clone, Debug, Snafu, PartialEq, Eq)]
pub enum TopologyError {
    /// More rails were asked for than there are NICs.
    #[snafu(display(
        "{rails} rails are asked for and this machine has {} {driver} devices ({}): ask for fewer rails, or for more \
         devices in the resources of the run",
        found.len(),
        if found.is_empty() { "none".to_owned() } else { found.join(", ") }
    ))]
    TooFewDevices {
        /// Rails asked for.
        rails: usize,
        /// Kind of device that was looked for.
        driver: String,
        /// Names of the devices found.
        found: Vec<String>,
    },
}

impl TopologyError {
    /// What kind of failure it is in a record.
    pub fn reason(&self) -> FailureReason {
        match self {
            Self::TooFewDevices { .. } => FailureReason::NoDevice,
        }
    }
}

/// The text of a file of the kernel's without its newline; nothing where there is none or the kernel refuses, as it
/// does for the speed of an interface without a link.
fn text_of(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod fixture;
