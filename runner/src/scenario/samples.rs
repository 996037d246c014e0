//! Samples that one side records in a measured case. Performs no I/O.

use serde::{Deserialize, Serialize};

use super::thread_report::ThreadReport;
use crate::measure::recorder::Recorder;

/// Samples that one side recorded in a measured case, in nanoseconds. Each thread's samples are in the order in which
/// they were recorded. Samples whose number is not known in advance, or is very large, are not stored; see
/// [`crate::measure::recorder`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseSamples {
    /// Latency of every operation: half a round-trip time, or the time from posting a transfer to its completion. The
    /// samples of the reads that follow a thread's writes come after the samples of these writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operation_nanos: Vec<u64>,
    /// Time from the local completion of every transfer to the completion of its flush.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flush_nanos: Vec<u64>,
    /// Round-trip time of every ping on the idle fabric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_ping_nanos: Vec<u64>,
}

impl CaseSamples {
    /// Copies the samples of `threads`.
    pub(super) fn new(threads: &[ThreadReport]) -> Self {
        let mut all = Self::default();
        for (measurement, _) in threads.iter().filter_map(|thread| thread.measurement.as_ref()) {
            all.operation_nanos
                .extend_from_slice(measurement.recorder.samples());
            let read_backs = measurement.read_backs.as_ref();
            all.operation_nanos
                .extend_from_slice(read_backs.map_or(&[], Recorder::samples));
            let flushes = measurement.flushes.as_ref();
            all.flush_nanos
                .extend_from_slice(flushes.map_or(&[], Recorder::samples));
            let pings = measurement.pings.as_ref();
            all.idle_ping_nanos
                .extend_from_slice(pings.map_or(&[], |pings| pings.idle_samples()));
        }
        all
    }
}
