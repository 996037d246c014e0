//! Compute resources of each worker. They are the same for all variants, so that a comparison does not measure the
//! effect of different resources.

use serde::{Deserialize, Serialize};

use crate::units::Size;

/// Compute resources of each worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
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
    /// Total size of the 2 MiB huge pages (`hugepages-2Mi`), used as request and limit.
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
}
