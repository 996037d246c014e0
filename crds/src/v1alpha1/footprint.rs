//! Memory use of processes that receive the same tensor, with the names and defaults of the PyIsolate memory benchmark.

use serde::{Deserialize, Serialize};

use crate::units::Size;

/// Memory use of a host process and of the consumers to which it distributes a tensor. The channel of each arm
/// (`spec.variants[].channel`) determines whether the consumers share the tensor (SharedMemory) or each have a copy
/// (UnixSocket, Tcp).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MemoryFootprint {
    /// Number of consumer processes, which run on the same machine as the host process. Defaults to 10.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 100)))]
    pub consumers: u32,
    /// Sizes of the tensor, such as 1Mi. Defaults to 1Mi and 2Gi.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 16)))]
    pub sizes: Vec<Size>,
    /// Number of distributions after the first, which is a warm-up. Each distribution replaces the tensor in every
    /// consumer, so the total memory use grows if a distribution does not free memory. Defaults to 5.
    #[cfg_attr(feature = "crd", schemars(range(min = 2, max = 1000)))]
    pub iterations: u32,
    /// Maximum duration of a case, in seconds. Must not exceed runPolicy.caseDeadlineSeconds. Defaults to 60.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 3600)))]
    pub timeout_seconds: u32,
}

impl Default for MemoryFootprint {
    fn default() -> Self {
        Self {
            consumers: 10,
            sizes: vec![Size(1 << 20), Size(2 << 30)],
            iterations: 5,
            timeout_seconds: 60,
        }
    }
}
