//! Memory use of a host and its consumers.

use serde::{Deserialize, Serialize};

/// Memory use of a host and its consumers, in bytes. Sums over consumers do not include the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FootprintReport {
    /// Number of consumers.
    pub consumers: u32,
    /// Proportional set size (Pss) of the host before it allocates the tensor and starts the consumers.
    pub baseline_pss_bytes: u64,
    /// Resident set size (Rss) of the host before it allocates the tensor and starts the consumers.
    pub baseline_rss_bytes: u64,
    /// Sum of the Pss of the consumers before they receive the tensor.
    pub own_pss_bytes: u64,
    /// Lowest of these values. Unset in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_pss_min_bytes: Option<u64>,
    /// Highest of these values. Unset in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_pss_max_bytes: Option<u64>,
    /// Sum of the Pss of the consumers while all have the tensor.
    pub consumers_pss_bytes: u64,
    /// Sum of the Rss of the consumers while all have the tensor. It counts a shared page once for each consumer.
    pub consumers_rss_bytes: u64,
    /// Sum of the Pss of the tensor in the host and all consumers. If the tensor is on a GPU: its size in the host, plus
    /// the GPU memory that the consumers free when all of them drop it.
    pub tensor_pss_bytes: u64,
    /// GPU memory that is in use while all consumers have the tensor, less that before the host allocated it: the tensor
    /// and the CUDA contexts of the consumers. Unset if the tensor is in host memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vram_bytes: Option<u64>,
    /// Change in the Pss of the host and its consumers from one distribution to the next, in bytes: the slope of a
    /// least-squares line.
    pub slope_bytes: f64,
}
