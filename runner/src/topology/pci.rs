//! Places in the PCI tree. Pure.

use std::path::Path;

/// The way from a root complex to a device: `pci0000:00`, then the PCI addresses of the bridges, then the device's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PciPath {
    steps: Vec<String>,
}

impl PciPath {
    /// The PCI part of a device's folder in sysfs; nothing where no part of it is a PCI device.
    pub fn of_folder(folder: &Path) -> Option<Self> {
        let names = folder.components().filter_map(|part| part.as_os_str().to_str());
        let steps: Vec<String> = names
            .filter(|name| is_root(name) || numbers(name).is_some())
            .map(str::to_ascii_lowercase)
            .collect();
        numbers(steps.last()?)?;
        Some(Self { steps })
    }

    /// PCI address of the device, such as `0000:53:00.0`.
    pub fn address(&self) -> &str {
        self.steps.last().map_or("", String::as_str)
    }

    /// Bridges between two devices; nothing where they hang below different root complexes.
    pub fn hops(&self, other: &Self) -> Option<usize> {
        let shared = self
            .steps
            .iter()
            .zip(&other.steps)
            .take_while(|(one, two)| one == two)
            .count();
        (shared > 0).then(|| self.steps.len() + other.steps.len() - 2 * shared)
    }

    /// How far apart the bus numbers of two devices are. Virtual machines hide the bridges but number the buses of
    /// one switch together: on a p5, the four NICs of a GPU have the four buses before it.
    pub fn bus_distance(&self, other: &Self) -> u64 {
        match (numbers(self.address()), numbers(other.address())) {
            (Some(one), Some(two)) => one.abs_diff(two),
            _ => u64::MAX,
        }
    }
}

fn is_root(name: &str) -> bool {
    name.strip_prefix("pci")
        .is_some_and(|rest| numbers(&format!("{rest}:00.0")).is_some())
}

/// Domain and bus of `0000:53:00.0` as one number; nothing for anything else.
fn numbers(name: &str) -> Option<u64> {
    let (place, function) = name.split_once('.')?;
    let mut parts = place.split(':');
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

    fn path(folder: &str) -> PciPath {
        PciPath::of_folder(Path::new(folder)).unwrap()
    }

    #[test]
    fn the_last_pci_device_of_a_folder_is_the_device() {
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
            assert_eq!(PciPath::of_folder(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn hops_count_bridges_to_the_nearest_common_one() {
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
