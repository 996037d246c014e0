//! Samples that one side records in a measured case. Performs no I/O.

use crds::quantity::Observation;
use serde::{Deserialize, Serialize};

use super::thread_report::ThreadReport;

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
            let observed = &measurement.observed;
            all.operation_nanos
                .extend(observed.samples(Observation::ReadBack));
            all.flush_nanos.extend(observed.samples(Observation::Flush));
            all.idle_ping_nanos
                .extend(observed.samples(Observation::PingIdle));
        }
        all
    }
}
