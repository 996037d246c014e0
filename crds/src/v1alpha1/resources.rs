//! What each worker gets. The same in all variants, or the comparison would be of resources.

use serde::{Deserialize, Serialize};

use crate::units::Size;

/// What each worker gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resources {
    /// GPUs (`nvidia.com/gpu`).
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(max = 64)))]
    pub gpus: u32,
    /// EFA devices (`vpc.amazonaws.com/efa`).
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(max = 64)))]
    pub efas: u32,
    /// Huge pages of 2 MiB, in bytes altogether.
    #[serde(default, rename = "hugepages2Mi", skip_serializing_if = "Option::is_none")]
    pub hugepages_2mi: Option<Size>,
    /// Processors; request and limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 1024)))]
    pub cpus: Option<u32>,
    /// Memory; request and limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    /// Size of `/dev/shm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_memory: Option<Size>,
}
