//! Metrics of comparisons.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Metric of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum Metric {
    /// Median latency of one operation; lower is better.
    LatencyP50,
    /// 95th percentile of latency; lower is better.
    LatencyP95,
    /// 99th percentile of latency; lower is better.
    LatencyP99,
    /// 99.9th percentile of latency; lower is better.
    #[serde(rename = "LatencyP99_9")]
    LatencyP999,
    /// Payload bytes per second; higher is better.
    Throughput,
    /// Completed operations per second; higher is better.
    CompletionRate,
    /// CPU seconds of both workers per GiB of payload; lower is better.
    CpuSecondsPerGib,
    /// Proportional set size (Pss) of a consumer of memoryFootprint, in bytes; lower is better.
    MemoryPerConsumer,
    /// Latency that a command reports, as its tool defines it, in nanoseconds; lower is better.
    ReportedLatency,
    /// Bandwidth that a command reports, as its tool defines it, in bytes per second; higher is better.
    ReportedBandwidth,
}

impl fmt::Display for Metric {
    /// Writes the name of the metric in manifests and records.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Metric {
    /// Whether the metric is a percentile of the latencies of the samples.
    pub fn is_latency(self) -> bool {
        matches!(
            self,
            Self::LatencyP50 | Self::LatencyP95 | Self::LatencyP99 | Self::LatencyP999
        )
    }

    /// Whether a larger value is better.
    pub fn higher_is_better(self) -> bool {
        matches!(
            self,
            Self::Throughput | Self::CompletionRate | Self::ReportedBandwidth
        )
    }
}
