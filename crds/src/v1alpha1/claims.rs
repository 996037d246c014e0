//! Devices that workers obtain through Dynamic Resource Allocation (DRA).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Alignment;
#[cfg(feature = "crd")]
use crate::names::SUBDOMAIN_PATTERN;

/// Regular expression for CEL expressions about a device: an expression that does not use `device` is the same for all
/// devices.
pub const EXPRESSION_PATTERN: &str = r"\bdevice\b";

/// Devices that each worker claims from drivers of Dynamic Resource Allocation (`resource.k8s.io/v1`). Each group is one
/// ResourceClaim, such as a GPU and its NICs. Requires Kubernetes 1.34 or newer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claims {
    /// Number of groups of each worker. All groups request the same devices. Defaults to 1.
    #[serde(default = "one")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 16)))]
    pub groups: u32,
    /// Devices of each group. A group holds at most 32 devices.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 8)))]
    pub requests: Vec<ClaimRequest>,
    /// Position that all devices of a group must share. Defaults to None: the scheduler may choose devices anywhere on the
    /// node.
    #[serde(default, skip_serializing_if = "Alignment::is_none")]
    pub align: Alignment,
}

/// Devices of one class.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimRequest {
    /// Name of the request in the claim, such as gpu or nic. Must be a DNS label.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))
    )]
    pub name: String,
    /// Name of the DeviceClass, such as gpu.nvidia.com.
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 1, max = 253),
            regex(pattern = SUBDOMAIN_PATTERN)
        )
    )]
    pub device_class_name: String,
    /// Number of devices in each group. Defaults to 1.
    #[serde(default = "one")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 32)))]
    pub count: u32,
    /// CEL expressions that each device must meet, such as `device.attributes["dra.net"].numaNode == 1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(max = 8),
            inner(length(min = 1, max = 2000), regex(pattern = EXPRESSION_PATTERN))
        )
    )]
    pub selectors: Vec<String>,
}

fn one() -> u32 {
    1
}

impl Claims {
    /// Maximum number of devices of a claim (`AllocationResultsMaxSize` of `resource.k8s.io/v1`).
    pub const MAX_DEVICES: u32 = 32;

    /// Number of devices in each group.
    pub fn devices(&self) -> u32 {
        let counts = self.requests.iter().map(|request| request.count);
        counts.fold(0, u32::saturating_add)
    }
}

impl Alignment {
    /// Qualified name of the attribute that all devices of a group share; `None` if they may be anywhere on the node.
    /// Kubernetes defines the attribute of PCI root complexes since 1.34, and that of NUMA nodes since 1.37. A driver may
    /// publish both in any version.
    pub fn device_attribute(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::NumaNode => Some(ATTRIBUTE_NUMA_NODE),
            Self::PciRoot => Some(ATTRIBUTE_PCI_ROOT),
        }
    }
}

/// Attribute of a device that names its NUMA node.
pub const ATTRIBUTE_NUMA_NODE: &str = "resource.kubernetes.io/numaNode";
/// Attribute of a device that names its PCI root complex.
pub const ATTRIBUTE_PCI_ROOT: &str = "resource.kubernetes.io/pcieRoot";

/// Describes what is requested, such as `8 groups of 1 gpu.nvidia.com and 4 efa.networking.k8s.aws, align PciRoot`.
impl fmt::Display for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.groups == 1 { "group" } else { "groups" };
        write!(f, "{} {noun} of ", self.groups)?;
        for (index, request) in self.requests.iter().enumerate() {
            let separator = if index == 0 { "" } else { " and " };
            write!(f, "{separator}{} {}", request.count, request.device_class_name)?;
            if !request.selectors.is_empty() {
                write!(f, " where {}", request.selectors.join(" and "))?;
            }
        }
        match self.align {
            Alignment::None => Ok(()),
            align => write!(f, ", align {align:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_described_with_its_selectors_and_alignment() {
        let request = |class: &str, count, selectors: &[&str]| ClaimRequest {
            name: "r".to_owned(),
            device_class_name: class.to_owned(),
            count,
            selectors: selectors.iter().map(|one| (*one).to_owned()).collect(),
        };
        let mut claims = Claims {
            groups: 8,
            requests: vec![request("gpu", 1, &[]), request("nic", 4, &["a", "b"])],
            align: Alignment::PciRoot,
        };
        assert_eq!(
            claims.to_string(),
            "8 groups of 1 gpu and 4 nic where a and b, align PciRoot"
        );
        assert_eq!(claims.devices(), 5);
        claims.groups = 1;
        claims.align = Alignment::None;
        assert_eq!(claims.to_string(), "1 group of 1 gpu and 4 nic where a and b");
    }
}
