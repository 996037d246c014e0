//! What plans, checks and results depend on in a workload, whichever it is.

use crds::assignment::{Extent, ScenarioAssignment, WorkloadProperties};
use crds::v1alpha1::{ManyToMany, Metric, TransportSpec};

use super::cell_cases::CellCases;
use super::own_results::OwnResults;

/// Assumed speed of one operation of a thread, while all threads of a worker are active.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// One-way latency of a small message, in seconds.
    pub latency: f64,
    /// Time to transmit the payload over all rails, in seconds.
    pub wire: f64,
    /// Number of threads that share the rails.
    pub sharing: f64,
    /// Time between two intended starts, in seconds; `None` for a closed loop.
    pub interval: Option<f64>,
}

/// Rules of a workload. The defaults are those of a closed loop with one operation at a time, which the runner times.
pub trait WorkloadRules: WorkloadProperties {
    /// What the latency covers, in a few words, as part of the name of a metric.
    fn latency_name(&self) -> &'static str;

    /// What the latency covers.
    fn latency_definition(&self) -> &'static str;

    /// Assumed time of one operation of one thread, in seconds.
    fn operation_seconds(&self, speed: Speed) -> f64;

    /// Whether cases have values of `metric`. With only one message in flight, a rate is the inverse of the latency.
    fn has_metric(&self, metric: Metric) -> bool {
        metric.is_latency() || metric == Metric::CpuSecondsPerGib
    }

    /// Whether a sample is half a round trip of a message, whose echo is as long.
    fn measures_round_trips(&self) -> bool {
        false
    }

    /// Time at which a case is stopped, in seconds; `None` if only the case deadline limits it.
    fn limit_seconds(&self) -> Option<f64> {
        None
    }

    /// Expected length of the measurement of a case, which is `given` unless something else ends it earlier.
    fn expected_extent(&self, given: Extent) -> Extent {
        given
    }

    /// Additional bytes of a case record.
    fn additional_record_bytes(&self) -> u64 {
        0
    }

    /// Bytes that the initiator sends and that it receives on each rail, computed from the bytes that the initiator and
    /// the target have posted. Posts that are not reported are not included.
    fn expected_bytes(&self, initiator: Vec<u64>, _target: Vec<u64>) -> [Vec<u64>; 2] {
        [initiator, Vec::new()]
    }

    /// Number of operations in progress at the same time whose latencies add up to at most the elapsed time; infinite if
    /// a latency includes time before the operation. `None` if the runner does not time the operations.
    fn concurrent_operations(&self) -> Option<f64> {
        Some(1.0)
    }

    /// Whether the bytes of the posts are the payload.
    fn posts_only_payload(&self) -> bool {
        true
    }

    /// Whether all threads of a case perform the same number of operations, one after another.
    fn repeats_operations(&self) -> bool {
        true
    }

    /// Whether the measured window contains only operations, and its CPU time is that of the operations.
    fn has_window_of_operations(&self) -> bool {
        true
    }

    /// Whether the target can use another kind of memory than the initiator.
    fn has_target_memory(&self) -> bool {
        true
    }

    /// Whether every byte can be verified before the measured rounds, or the data path be logged instead.
    fn has_integrity_pass(&self) -> bool {
        true
    }

    /// Results that only this workload has, from the cases of an arm at one size.
    fn own_results(&self, _cases: &CellCases<'_>) -> OwnResults {
        OwnResults::default()
    }

    /// Whether the rates of the flows of the many-to-many pattern are results.
    fn has_flow_rates(&self) -> bool {
        true
    }

    /// Event that ends a sample with `transport`, if it differs between libraries.
    fn end_of_sample(&self, _transport: &TransportSpec) -> Option<&'static str> {
        None
    }

    /// Whether an operation can take less time than one reading of the clock.
    fn can_be_below_clock(&self) -> bool {
        false
    }

    /// Name of a payload of `size_bytes` bytes; `None` if payloads have no names.
    fn payload_name(&self, _size_bytes: u64) -> Option<&'static str> {
        None
    }

    /// What the scenario does, in a line of a plan.
    fn description(&self, scenario: &ScenarioAssignment, many_to_many: Option<ManyToMany>) -> String;

    /// Whether the results have tables of their own.
    fn has_own_tables(&self) -> bool {
        false
    }

    /// Fields that lengthen the windows of a sweep.
    fn longer_windows(&self) -> &'static str {
        "a longer transfer.duration or sampling.minWindow"
    }
}

/// The sums of the bytes on each rail.
pub(crate) fn add(mut bytes: Vec<u64>, other: &[u64]) -> Vec<u64> {
    bytes.resize(bytes.len().max(other.len()), 0);
    bytes.iter_mut().zip(other).for_each(|(sum, more)| *sum += more);
    bytes
}
