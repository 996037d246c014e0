//! Order in which the RDMA devices of a machine are used for transfers to and from memory at a given location. Performs
//! no I/O.
//!
//! For GPU memory, the nearest devices come first: those with the fewest steps to the GPU in the PCI tree, and among
//! these, those on the GPU's NUMA node. Several GPUs may be equally near to the same devices, either because they are
//! behind one switch or because a virtual machine does not expose its switches. The devices are then divided among
//! these GPUs in PCI address order, and each GPU starts with its own share. GPUs that are used concurrently therefore
//! start with different devices if there are enough devices.

use super::{Device, Gpu, Machine, PciPath};

/// Memory location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// Memory of the GPU at this PCI address, such as `0000:53:00.0`.
    Gpu(String),
    /// Host memory on this NUMA node.
    NumaNode(u32),
}

/// Returns the devices of `machine` that use one of the kernel drivers in `drivers` (such as `efa`), starting with
/// those nearest to `location`.
///
/// Equally near devices are ordered by PCI address. Devices without a PCI path come last.
pub fn nearest<'a>(machine: &'a Machine, drivers: &[&str], location: &Location) -> Vec<&'a Device> {
    let mut devices: Vec<&Device> = machine
        .devices
        .iter()
        .filter(|device| {
            device
                .driver
                .as_deref()
                .is_some_and(|driver| drivers.contains(&driver))
        })
        .collect();
    devices.sort_by_key(|device| sort_key(device));
    match location {
        Location::NumaNode(node) => devices.sort_by_key(|device| device.numa_node != Some(*node)),
        Location::Gpu(gpu) => {
            if let Some(Gpu { pci: gpu, numa_node }) = machine.gpu(gpu) {
                let preferred = preferred_devices(machine, gpu, &devices);
                devices.sort_by_cached_key(|device| {
                    (
                        hops(gpu, device),
                        device.numa_node != *numa_node,
                        !preferred.contains(&device.name),
                        device
                            .pci
                            .as_ref()
                            .map_or(u64::MAX, |path| gpu.bus_distance(path)),
                        sort_key(device),
                    )
                });
            }
        }
    }
    devices
}

/// Sort key that orders devices by PCI address, followed by devices without a PCI address, by name.
fn sort_key(device: &Device) -> (bool, String) {
    match &device.pci {
        Some(path) => (false, path.address().to_owned()),
        None => (true, device.name.clone()),
    }
}

/// Steps in the PCI tree from `gpu` to `device`; `usize::MAX` if they are not below the same root complex.
fn hops(gpu: &PciPath, device: &Device) -> usize {
    let path = device.pci.as_ref();
    path.and_then(|path| gpu.hops(path)).unwrap_or(usize::MAX)
}

/// Names of the devices that are nearest to `gpu`.
fn nearest_names<'a>(gpu: &PciPath, devices: &[&'a Device]) -> Vec<&'a str> {
    let all = devices.iter().map(|device| hops(gpu, device));
    let least = all.min().filter(|least| *least < usize::MAX);
    let near = devices.iter().filter(|device| Some(hops(gpu, device)) == least);
    near.map(|device| device.name.as_str()).collect()
}

/// Names of the devices that `gpu` starts with: its share of the devices that are equally near to other GPUs.
fn preferred_devices(machine: &Machine, gpu: &PciPath, devices: &[&Device]) -> Vec<String> {
    let own = nearest_names(gpu, devices);
    let sharing: Vec<&PciPath> = machine
        .gpus
        .iter()
        .map(|gpu: &Gpu| &gpu.pci)
        .filter(|other| nearest_names(other, devices) == own)
        .collect();
    let Some(index) = sharing.iter().position(|other| *other == gpu) else {
        return Vec::new();
    };
    let start = index * own.len() / sharing.len();
    let end = ((index + 1) * own.len() / sharing.len()).max(start + 1);
    let part = own.get(start..end.min(own.len())).unwrap_or_default();
    part.iter().map(|name| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests;
