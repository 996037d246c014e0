//! Result of one run of a command, as printed by its tool.

use serde::{Deserialize, Serialize};

use super::super::CommandLog;

/// Result of one run of a command, as printed by its tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CommandReport {
    /// Latency in nanoseconds. Unset if the tool printed no latency, or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_nanos: Option<f64>,
    /// Range of the latency before printing, in nanoseconds. If `latencyNanos` is unset, the tool printed 0: the latency
    /// is below its resolution. Unset if the tool printed no latency, and in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_range: Option<PrintedRange>,
    /// Payload bytes per second. Unset if the tool printed no bandwidth, or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<f64>,
    /// Range of the bandwidth before printing, in bytes per second. If `bytesPerSecond` is unset, the tool printed 0: the
    /// bandwidth is below its resolution. Unset if the tool printed no bandwidth, and in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_range: Option<PrintedRange>,
    /// Lower bound of the payload bytes that the tool transferred in at least one direction. Unset if the output does
    /// not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<u64>,
    /// Upper bound of the payload bytes that the tool reports in one direction, over all sizes in its output. Unset if the
    /// output does not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_payload_bytes: Option<u64>,
    /// Log lines of the client.
    #[serde(default, skip_serializing_if = "CommandLog::is_empty")]
    pub log: CommandLog,
    /// Lines that earlier runners recorded as reports of a fallback, without a rule. No longer written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
}

/// The values that a tool prints like the value that it printed. A tool that rounds prints a value to half a unit of its
/// last digit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PrintedRange {
    /// Least value that is printed in this way; 0 if 0 was printed.
    pub least: f64,
    /// Greatest value that is printed in this way.
    pub most: f64,
}
