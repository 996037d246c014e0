//! Lists the RDMA devices, and the devices to use for each GPU. Performs no I/O.

use std::collections::BTreeSet;

use crds::record::{CaseFailure, FailureReason};

use super::Finding;
use crate::topology::{Device, Location, Machine, locality, nearest};

/// Maximum number of devices listed for each GPU.
const SHOWN: usize = 8;

/// Returns one finding for each RDMA device and each GPU. Even in a container, sysfs lists the devices of the whole
/// machine.
pub(super) fn findings(machine: &Machine) -> Vec<Finding> {
    let missing = machine.devices.is_empty().then(|| Finding {
        what: "device".into(),
        name: "RDMA".into(),
        result: Err(CaseFailure {
            reason: FailureReason::NoDevice,
            message:
                "/sys/class/infiniband contains no devices; request them in spec.resources, or load the \
                      device driver"
                    .into(),
        }),
    });
    let devices = machine.devices.iter().map(device);
    let gpus = machine.gpus.iter().map(|gpu| Finding {
        what: "gpu".into(),
        name: gpu.pci.address().to_owned(),
        result: Ok(nearest_devices(machine, gpu.pci.address())),
    });
    missing.into_iter().chain(devices).chain(gpus).collect()
}

fn device(device: &Device) -> Finding {
    let pci = device.pci.as_ref();
    let pci = pci.map_or_else(String::new, |pci| format!(" at {}", pci.address()));
    let node = device.numa_node;
    let node = node.map_or_else(String::new, |node| format!(", NUMA node {node}"));
    let driver = device.driver.as_deref().unwrap_or("no driver");
    Finding {
        what: "device".into(),
        name: device.name.clone(),
        result: Ok(format!("{driver}{pci}{node}")),
    }
}

/// Describes the devices that rails use for the memory of `gpu`, in rail order.
fn nearest_devices(machine: &Machine, gpu: &str) -> String {
    let drivers: BTreeSet<&str> = machine
        .devices
        .iter()
        .filter_map(|device| device.driver.as_deref())
        .collect();
    let drivers: Vec<&str> = drivers.into_iter().collect();
    let location = Location::Gpu(gpu.to_owned());
    let devices = nearest(machine, &drivers, &location).into_iter().take(SHOWN);
    let devices: Vec<String> = devices
        .map(|device| format!("{} ({})", device.name, locality(machine, &location, device)))
        .collect();
    if devices.is_empty() {
        return "no RDMA device for rails".to_owned();
    }
    format!("rails use {}", devices.join(", "))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::topology::{DeviceClass, Gpu, PciPath};

    fn path(path: &str) -> PciPath {
        PciPath::from_directory(&Path::new("/sys/devices").join(path)).unwrap()
    }

    fn nic(name: &str, pci: &str, numa_node: u32) -> Device {
        Device {
            class: DeviceClass::Rdma,
            name: name.to_owned(),
            pci: Some(path(pci)),
            driver: Some("efa".to_owned()),
            numa_node: Some(numa_node),
            line_bits_per_second: None,
        }
    }

    #[test]
    fn lists_the_nearest_devices_of_each_gpu_first() {
        let machine = Machine {
            gpus: vec![Gpu {
                pci: path("pci0000:90/0000:91:00.0"),
                numa_node: Some(1),
            }],
            devices: vec![
                nic("a", "pci0000:10/0000:11:00.0", 0),
                nic("b", "pci0000:90/0000:92:00.0", 1),
            ],
        };
        let findings: Vec<String> = findings(&machine)
            .into_iter()
            .map(|finding| format!("{} {}: {}", finding.what, finding.name, finding.result.unwrap()))
            .collect();
        assert_eq!(
            findings,
            [
                "device a: efa at 0000:11:00.0, NUMA node 0",
                "device b: efa at 0000:92:00.0, NUMA node 1",
                "gpu 0000:91:00.0: rails use b (same PCI root complex), a (different NUMA nodes)",
            ]
        );
    }

    #[test]
    fn reports_an_error_for_a_machine_without_devices() {
        let gpus = vec![Gpu {
            pci: path("pci0000:00/0000:00:06.0"),
            numa_node: None,
        }];
        let found = findings(&Machine {
            gpus,
            ..Machine::default()
        });
        assert!(found[0].result.is_err());
        assert_eq!((found.len(), found[1].name.as_str()), (2, "0000:00:06.0"));
        assert_eq!(found[1].result.as_deref(), Ok("no RDMA device for rails"));
        assert_eq!(findings(&Machine::default()).len(), 1);
    }
}
