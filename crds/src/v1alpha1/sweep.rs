//! Load sweep results in the run status.

use serde::{Deserialize, Serialize};

/// Result of one arm in a load sweep: its latency at each rate, and the highest rate that it sustains. A rate is
/// sustained if operations complete at 95 percent or more of the intended rate, and if the 99th percentile of latency is
/// at most 10 times the value at the lowest rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SweepResult {
    /// Name of the scenario in the spec.
    pub scenario: String,
    /// Transfer size, in bytes.
    pub size_bytes: u64,
    /// Name of the variant or control arm.
    pub arm: String,
    /// Highest rate that the arm sustains. Unset if the measurements needed to determine it are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<SweepKnee>,
    /// Capacity: the highest median of completed operations per second per thread at any saturated rate. A rate is
    /// saturated if operations complete at less than 95 percent of it. Unset if no rate is saturated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u64>,
    /// Lower bound of the 95 percent confidence interval of the capacity. Unset if there are fewer than six rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_lower: Option<u64>,
    /// Upper bound of the 95 percent confidence interval of the capacity. Unset if there are fewer than six rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_upper: Option<u64>,
    /// Measured values at each rate, lowest rate first. Omitted if the status would otherwise be too large.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    pub points: Vec<SweepPoint>,
}

/// Position of the highest sustained rate in the range of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SweepKnee {
    /// Position relative to the range of the sweep.
    pub position: KneePosition,
    /// Highest rate such that this rate and all lower rates are sustained, in operations per second per thread. Unset if
    /// the lowest rate is not sustained, or if all rates are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// Lowest rate that is not sustained. Set if and only if `rate` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_rate: Option<u32>,
}

/// Position of a knee relative to the range of its sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum KneePosition {
    /// Even the lowest rate is not sustained.
    BelowRange,
    /// The lowest rate is sustained, and a higher rate is not.
    InRange,
    /// All rates are sustained.
    AboveRange,
}

/// Values of one arm at one rate of a sweep: medians over all rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SweepPoint {
    /// Intended rate, in operations per second per thread.
    pub rate: u32,
    /// Completed operations per second per thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_rate: Option<u64>,
    /// Median latency from the intended start, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_nanos: Option<u64>,
    /// 99th percentile of latency from the intended start, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_nanos: Option<u64>,
    /// Whether the rate is sustained. Unset if the arm has no valid case at this rate or at the lowest rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained: Option<bool>,
}
