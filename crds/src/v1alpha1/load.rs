//! When the operations of a workload start.

use serde::{Deserialize, Serialize};

/// When transfers start. If unset, a transfer starts as soon as an earlier one has completed (closed loop).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Load {
    /// Transfers have intended start times, whether or not earlier ones have completed. The latency of a transfer counts
    /// from its intended start, so that a stall delays every transfer that should have started during it.
    OpenLoop(OpenLoop),
}

/// Intended start times of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenLoop {
    /// Mean number of transfers per second and thread.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub rate: u32,
    /// Distribution of the time between two intended starts. Defaults to Poisson.
    #[serde(default)]
    pub arrivals: Arrivals,
}

/// Distribution of the time between two intended starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Arrivals {
    /// Exponentially distributed, as for requests of many independent clients. All arms of a block have the same
    /// intended start times.
    #[default]
    Poisson,
    /// Always the same.
    Constant,
}
