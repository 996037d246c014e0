//! Staleness of the parameters that the workers of a parameter serving case used.

use serde::{Deserialize, Serialize};

use super::Durations;
use crate::histogram::Histogram;

/// Staleness in one case, as reported by the target. The steps that a worker ran before its first version are excluded
/// from all distributions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ServingReport {
    /// Number of versions that the trainer published.
    pub published: u64,
    /// Reports of the workers, in worker order.
    pub workers: Vec<WorkerReport>,
    /// Version lag at every step of every worker: the number of versions that were newer than the version in use. The
    /// values are numbers of versions, not nanoseconds; up to 2047, they are exact.
    pub version_lag: Histogram,
    /// Maximum version lag.
    pub max_version_lag: u64,
    /// Time lag at every step of every worker: the time since a newer version was published, or 0 if the version in use
    /// was the latest.
    pub time_lag: Durations,
    /// Durations of fetches that returned a newer version, in Filesystem and Pull modes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<Durations>,
    /// Whether the trainer and the workers read the same clock.
    pub same_clock: bool,
    /// Largest error bound of times measured across the two clocks, in nanoseconds; 0 if both sides use the same clock.
    pub clock_bound_nanos: u64,
}

/// Staleness of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkerReport {
    /// Number of versions that the worker used.
    pub versions: u64,
    /// Number of steps with a version.
    pub steps: u64,
    /// Number of steps before the first version.
    pub cold_steps: u64,
    /// Time from the start to the first version, in nanoseconds.
    pub cold_nanos: u64,
    /// Sum of the version lags at all steps.
    pub version_lag_sum: u64,
    /// Median version lag.
    pub version_lag_p50: u64,
    /// 99th percentile of the version lag.
    pub version_lag_p99: u64,
    /// Maximum version lag.
    pub version_lag_max: u64,
    /// Median time lag, in nanoseconds.
    pub time_lag_p50_nanos: u64,
    /// 99th percentile of the time lag, in nanoseconds.
    pub time_lag_p99_nanos: u64,
    /// Maximum time lag, in nanoseconds.
    pub time_lag_max_nanos: u64,
    /// Number of posts that the trainer received.
    pub posts: u64,
    /// Staleness that the trainer computes from the posts. Unset if no post arrived after the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posted: Option<PostedStaleness>,
    /// Staleness that the original benchmark computes from the posts. Unset if there are no posts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<OriginalStaleness>,
    /// Number of fetched or received versions that were not used, because they contain bytes of several versions (torn
    /// versions).
    pub torn: u64,
    /// Datagram counters. Set only in Multicast mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramReport>,
}

/// Staleness that the trainer computes from a worker's posts, in versions. The lags are means over the posts that cover
/// at least one step with a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PostedStaleness {
    /// Number of posts that cover at least one step with a version. Records of older runners do not contain this
    /// number and are not summarized.
    #[serde(default)]
    pub posts: u64,
    /// Store lag: the mean version lag at the steps with a version that a post covers.
    pub store_versions: f64,
    /// Post lag: the latest version when the post arrived, minus the mean of the latest versions at the steps with a
    /// version that the post covers.
    pub post_versions: f64,
}

/// Staleness as the original benchmark computes it, which also counts the steps before the first version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OriginalStaleness {
    /// Number of posts that cover at least one step.
    pub posts: u64,
    /// Mean, over the posts, of the latest version when a post arrived minus the mean version that the worker used at
    /// the steps that the post covers. Steps before the first version count as version -1.
    pub versions: f64,
}

/// Datagram counters of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DatagramReport {
    /// Number of datagrams that the trainer sent.
    pub sent: u64,
    /// Number of distinct datagrams that arrived.
    pub received: u64,
    /// Number of duplicate datagrams that arrived.
    pub duplicates: u64,
    /// Number of datagrams that did not arrive: `sent` minus `received`.
    pub lost: u64,
    /// Number of versions that were not used because datagrams were lost or late.
    pub incomplete_versions: u64,
    /// Size of the receive buffer that the kernel granted, in bytes.
    pub receive_buffer_bytes: u64,
}
