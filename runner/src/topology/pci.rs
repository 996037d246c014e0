//! Paths in the PCI tree. Performs no I/O.

use std::path::Path;

/// Path from a root complex to a device: `pci0000:00`, then the PCI addresses of the bridges and of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PciPath {
    steps: Vec<String>,
}

impl PciPath {
    /// Extracts the PCI components of a device's sysfs directory; `None` if they do not end with a PCI device.
    pub fn from_directory(directory: &Path) -> Option<Self> {
        let names = directory
            .components()
            .filter_map(|part| part.as_os_str().to_str());
        let steps: Vec<String> = names
            .filter(|name| is_root(name) || bus_number(name).is_some())
            .map(str::to_ascii_lowercase)
            .collect();
        bus_number(steps.last()?)?;
        Some(Self { steps })
    }

    /// PCI address of the device, such as `0000:53:00.0`.
    pub fn address(&self) -> &str {
        self.steps.last().map_or("", String::as_str)
    }

    /// Number of steps in the PCI tree between two devices; `None` if they are below different root complexes.
    pub fn hops(&self, other: &Self) -> Option<usize> {
        let shared = self
            .steps
            .iter()
            .zip(&other.steps)
            .take_while(|(own, others)| own == others)
            .count();
        (shared > 0).then(|| self.steps.len() + other.steps.len() - 2 * shared)
    }

    /// Difference between the bus numbers of two devices.
    ///
    /// Some virtual machines do not expose the bridges, but number the buses behind one switch consecutively: on a p5
    /// instance, the four NICs next to a GPU have the four bus numbers immediately before the GPU's.
    pub fn bus_distance(&self, other: &Self) -> u64 {
        match (bus_number(self.address()), bus_number(other.address())) {
            (Some(own), Some(others)) => own.abs_diff(others),
            _ => u64::MAX,
        }
    }
}

fn is_root(name: &str) -> bool {
    name.strip_prefix("pci")
        .is_some_and(|rest| bus_number(&format!("{rest}:00.0")).is_some())
}

/// Domain and bus of a PCI address such as `0000:53:00.0`, as one number; `None` if `name` is not a PCI address.
fn bus_number(name: &str) -> Option<u64> {
    let (location, function) = name.split_once('.')?;
    let mut parts = location.split(':');
    let (domain, bus, slot) = (parts.next()?, parts.next()?, parts.next()?);
    let lengths = domain.len() >= 4 && bus.len() == 2 && slot.len() == 2 && function.len() == 1;
    if parts.next().is_some() || !lengths {
        return None;
    }
    let number = |text| u32::from_str_radix(text, 16).ok().map(u64::from);
    let (domain, bus) = (number(domain)?, number(bus)?);
    number(slot).and(number(function))?;
    Some((domain << 8) + bus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(directory: &str) -> PciPath {
        PciPath::from_directory(Path::new(directory)).unwrap()
    }

    #[test]
    fn uses_the_last_pci_device_of_a_directory() {
        let virtio = path("/sys/devices/pci0000:00/0000:00:03.0/virtio1/net/eth0");
        assert_eq!(virtio.address(), "0000:00:03.0");
        assert_eq!(
            path("/sys/devices/pci0000:C0/0000:CA:00.0").address(),
            "0000:ca:00.0"
        );
        for other in [
            "/sys/devices/virtual/net/lo",
            "/sys/devices/pci0000:00",
            "/a/00:1:2.x",
        ] {
            assert_eq!(PciPath::from_directory(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn hops_count_the_steps_via_the_nearest_common_bridge() {
        let gpu = path("/s/pci0000:50/0000:50:01.0/0000:51:00.0/0000:53:00.0");
        let near = path("/s/pci0000:50/0000:50:01.0/0000:51:00.0/0000:52:00.0");
        let far = path("/s/pci0000:50/0000:50:02.0/0000:60:00.0");
        let elsewhere = path("/s/pci0000:90/0000:90:01.0/0000:97:00.0");
        assert_eq!(gpu.hops(&gpu), Some(0));
        assert_eq!(gpu.hops(&near), Some(2));
        assert_eq!(gpu.hops(&far), Some(5));
        assert_eq!(gpu.hops(&elsewhere), None);
    }

    #[test]
    fn bus_distance_ignores_slots_and_counts_domains() {
        let gpu = path("/s/pci0000:00/0000:53:00.0");
        assert_eq!(gpu.bus_distance(&path("/s/pci0000:00/0000:4f:1f.7")), 4);
        assert_eq!(gpu.bus_distance(&path("/s/pci0001:00/0001:53:00.0")), 256);
    }
}
