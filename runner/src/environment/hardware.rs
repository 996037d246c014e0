//! NICs, GPUs and the machine type. Reads `/sys` and `/proc`.

use std::fs;
use std::path::Path;

use crds::record::{HardwareFacts, NicFacts};

use super::{rdma_core, read_text};
use crate::topology::{Device, DeviceClass, SystemRoots};

/// DMI vendor of an EC2 instance, whose DMI product name is the instance type.
const EC2_VENDOR: &str = "Amazon EC2";

/// Hardware of this machine. `libraries` are the directories to search for libibverbs, and `efa_packages` is the file
/// in which the EFA installer lists the installed packages.
pub(super) fn facts(roots: &SystemRoots, libraries: &[&Path], efa_packages: &Path) -> HardwareFacts {
    let dmi = |name: &str| read_text(&roots.sys.join("class/dmi/id").join(name));
    let is_ec2 = dmi("sys_vendor").is_some_and(|vendor| vendor == EC2_VENDOR);
    HardwareFacts {
        instance_type: dmi("product_name").filter(|_| is_ec2),
        iommu: read_text(&roots.sys.join("kernel/iommu_groups/0/type")),
        nics: Device::all(DeviceClass::Rdma, roots)
            .iter()
            .map(|device| nic(device, roots))
            .collect(),
        gpus: gpus(&roots.proc.join("driver/nvidia/gpus")),
        gpu_clocks: Vec::new(),
        gpu_driver: read_text(&roots.proc.join("driver/nvidia/version"))
            .and_then(|text| driver_version(&text)),
        efa_installer: read_text(efa_packages).and_then(|text| installer_version(&text)),
        rdma_core: libraries.iter().find_map(|directory| rdma_core::facts(directory)),
    }
}

fn nic(device: &Device, roots: &SystemRoots) -> NicFacts {
    let directory = roots.sys.join("class/infiniband").join(&device.name);
    let read = |name: &str| read_text(&directory.join(name)).filter(|text| !text.is_empty());
    let module = |driver: &String| read_text(&roots.sys.join("module").join(driver).join("version"));
    NicFacts {
        name: device.name.clone(),
        driver: device.driver.clone(),
        driver_version: device.driver.as_ref().and_then(module),
        firmware: read("fw_ver"),
        link_speed: read("device/current_link_speed"),
        link_width: read("device/current_link_width").and_then(|text| text.parse().ok()),
    }
}

/// GPU models. The directory of each GPU is named after its PCI address.
fn gpus(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut gpus: Vec<_> = entries.map(|entry| entry.path()).collect();
    gpus.sort_unstable();
    let model = |gpu: &std::path::PathBuf| {
        let information = read_text(&gpu.join("information"))?;
        let line = information.lines().find_map(|line| line.strip_prefix("Model:"))?;
        Some(line.trim().to_owned())
    };
    gpus.iter().filter_map(model).collect()
}

/// Version from the `# EFA installer version: 1.42.0` line in the list of installed packages.
fn installer_version(text: &str) -> Option<String> {
    let mut lines = text.lines();
    let version = lines.find_map(|line| {
        line.trim_start_matches("# ")
            .strip_prefix("EFA installer version:")
    })?;
    Some(version.trim().to_owned())
}

/// Version in the first line of `/proc/driver/nvidia/version`: the first word that starts with a digit.
fn driver_version(text: &str) -> Option<String> {
    let mut words = text.lines().next()?.split_whitespace();
    words
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_version_of_the_efa_installer() {
        let text = "# EFA installer version: 1.42.0\n# Debug packages installed: no\n# Packages installed:\nefa-config_1.18_all\n";
        assert_eq!(installer_version(text).as_deref(), Some("1.42.0"));
        assert_eq!(installer_version("efa-config_1.18_all\n"), None);
    }
}
