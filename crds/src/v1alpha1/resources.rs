//! Compute resources of each worker. They are the same for all variants, so that a comparison does not measure the
//! effect of different resources. Only claims of devices can be what the variants differ in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Claims;
#[cfg(feature = "crd")]
use crate::names::SUBDOMAIN_PATTERN;
use crate::units::Size;

/// Compute resources of each worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("!has(self.extended) || self.extended.all(name, name.matches('^[a-z0-9.-]+/[A-Za-z0-9][A-Za-z0-9._-]*$') && name.size() <= 253 && !(name in ['nvidia.com/gpu', 'vpc.amazonaws.com/efa']))").message("extended resource names must have a domain prefix, for example rdma/hca_shared_devices_a; GPUs and EFA devices have their own fields").field_path(".extended"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resources {
    /// Number of GPUs (`nvidia.com/gpu`). Defaults to 0.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(max = 64)))]
    pub gpus: u32,
    /// Number of EFA devices (`vpc.amazonaws.com/efa`). Defaults to 0.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(max = 64)))]
    pub efas: u32,
    /// Amounts of other extended resources, by resource name, such as `rdma/hca_shared_devices_a: 1`. Each amount must
    /// be between 1 and 1024.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "crd", schemars(extend(
        "maxProperties" = 8,
        "additionalProperties" = serde_json::json!({"type": "integer", "format": "uint32", "minimum": 1, "maximum": 1024})
    )))]
    pub extended: BTreeMap<String, u32>,
    /// Devices that each worker claims from drivers of Dynamic Resource Allocation, instead of extended resources of a
    /// device plugin. A variant can override this setting. Outside a cluster, this field has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Claims>,
    /// Total size of 2 MiB huge pages (`hugepages-2Mi`), used as request and limit.
    #[serde(default, rename = "hugepages2Mi", skip_serializing_if = "Option::is_none")]
    pub hugepages_2mi: Option<Size>,
    /// Number of CPUs, used as request and limit. Defaults to the value in the operator's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 1024)))]
    pub cpus: Option<u32>,
    /// Amount of memory, used as request and limit. Defaults to the value in the operator's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    /// Size of the in-memory volume mounted at `/dev/shm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_memory: Option<Size>,
    /// Name of a PersistentVolumeClaim in the run's namespace, which all workers mount at /mnt/fabricbench. In a
    /// cluster, it is required for parameterServing in Filesystem mode. If the workers run on different nodes, the
    /// claim's access mode must be ReadWriteMany. Outside a cluster, this field has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(min = 1, max = 253),
            regex(pattern = SUBDOMAIN_PATTERN)
        )
    )]
    pub persistent_volume_claim: Option<String>,
}
