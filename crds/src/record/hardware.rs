//! Hardware of a machine and the kernel and user-space software that drives it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Hardware of a machine and the software that drives it. Values that the machine does not report are left unset, never
/// guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HardwareFacts {
    /// Instance type, such as `p5.48xlarge`. Unset if the machine is not an EC2 instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    /// Type of the first IOMMU group, such as `DMA-FQ` or `identity`. Unset if the kernel does not use an IOMMU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iommu: Option<String>,
    /// RDMA devices, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<NicFacts>,
    /// Models of the NVIDIA GPUs, sorted by PCI address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<String>,
    /// Clocks of the GPUs available to the worker, read when it starts. Empty if `nvidia-smi` is not available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpu_clocks: Vec<GpuClocks>,
    /// Version of the NVIDIA kernel driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_driver: Option<String>,
    /// Version of the EFA installer that installed the libraries of this image. Unset if the image does not contain the
    /// installer's list of packages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efa_installer: Option<String>,
    /// Provider libraries of rdma-core. Unset if libibverbs is not installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma_core: Option<RdmaCoreFacts>,
}

/// RDMA device with its driver and its PCI link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NicFacts {
    /// Name of the device, such as `rdmap79s0`.
    pub name: String,
    /// Name of the kernel driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Version of the kernel driver. Unset for drivers that ship with the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
    /// Firmware version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Current PCI link speed, such as `32.0 GT/s PCIe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_speed: Option<String>,
    /// Current PCI link width, in lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_width: Option<u32>,
}

/// Clocks of a GPU, in MHz. A clock that the GPU does not report is unset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GpuClocks {
    /// PCI address of the GPU, such as `0000:53:00.0`.
    pub pci: String,
    /// Current clock of the streaming multiprocessors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<u32>,
    /// Current memory clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mhz: Option<u32>,
    /// Maximum clock of the streaming multiprocessors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_sm_mhz: Option<u32>,
    /// Maximum memory clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_memory_mhz: Option<u32>,
}

impl HardwareFacts {
    /// Maximum clocks of the GPUs, without duplicates, such as `1980 MHz, memory 2619 MHz`. Current clocks are not
    /// included, because they vary while a GPU is idle.
    pub fn max_gpu_clocks(&self) -> Vec<String> {
        let mut distinct = Vec::new();
        for clocks in &self.gpu_clocks {
            let (Some(sm), Some(memory)) = (clocks.max_sm_mhz, clocks.max_memory_mhz) else {
                continue;
            };
            let text = format!("{sm} MHz, memory {memory} MHz");
            if !distinct.contains(&text) {
                distinct.push(text);
            }
        }
        distinct
    }
}

/// Versions of the interface between libibverbs and its EFA provider library. libibverbs loads only a provider library
/// whose version matches its own and silently ignores all others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RdmaCoreFacts {
    /// Version that libibverbs loads: the number NN in `libefa-rdmavNN.so`.
    pub expected: u32,
    /// Versions of the installed EFA provider libraries.
    pub installed_efa: Vec<u32>,
}

impl HardwareFacts {
    /// Describes the RDMA devices and GPUs, with one line for each group of identical devices, such as
    /// `32 x efa, driver 2.10.0, firmware 0.0`.
    pub fn devices(&self) -> Vec<String> {
        let nics = self.nics.iter().map(ToString::to_string);
        let gpus = self.gpus.iter().map(|model| match &self.gpu_driver {
            Some(driver) => format!("{model}, driver {driver}"),
            None => model.clone(),
        });
        let mut groups: Vec<(usize, String)> = Vec::new();
        for device in nics.chain(gpus) {
            match groups.iter_mut().find(|(_, known)| *known == device) {
                Some((count, _)) => *count += 1,
                None => groups.push((1, device)),
            }
        }
        let groups = groups
            .into_iter()
            .map(|(count, device)| format!("{count} x {device}"));
        groups.collect()
    }
}

/// Writes all fields except the name.
impl fmt::Display for NicFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.driver.as_deref().unwrap_or("unknown driver"))?;
        if let Some(version) = &self.driver_version {
            write!(f, ", driver {version}")?;
        }
        if let Some(firmware) = &self.firmware {
            write!(f, ", firmware {firmware}")?;
        }
        match (&self.link_speed, self.link_width) {
            (Some(speed), Some(width)) => write!(f, ", {speed} x{width}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_identical_devices() {
        let nic = |name: &str, firmware: &str| NicFacts {
            name: name.into(),
            driver: Some("efa".into()),
            driver_version: Some("2.10.0".into()),
            firmware: Some(firmware.into()),
            link_speed: Some("32.0 GT/s PCIe".into()),
            link_width: Some(8),
        };
        let hardware = HardwareFacts {
            nics: vec![nic("a", "1"), nic("b", "1"), nic("c", "2")],
            gpus: vec!["NVIDIA H100".into(), "NVIDIA H100".into()],
            gpu_driver: Some("535".into()),
            ..HardwareFacts::default()
        };
        assert_eq!(
            hardware.devices(),
            [
                "2 x efa, driver 2.10.0, firmware 1, 32.0 GT/s PCIe x8",
                "1 x efa, driver 2.10.0, firmware 2, 32.0 GT/s PCIe x8",
                "2 x NVIDIA H100, driver 535"
            ]
        );
    }
}
