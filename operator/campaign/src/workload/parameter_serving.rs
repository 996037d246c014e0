//! Rules of parameter serving.

mod given;

use crds::assignment::{Extent, ServingWorkload};

use super::rules::add;
use super::{Speed, WorkloadRules};

/// Additional bytes of a case record for each worker, including its share of the staleness distributions.
const WORKER_BYTES: u64 = 1024;

impl WorkloadRules for ServingWorkload {
    fn latency_name(&self) -> &'static str {
        "publication-to-use"
    }

    fn latency_definition(&self) -> &'static str {
        "the time from the publication of a version to its first use by a worker"
    }

    fn operation_seconds(&self, _speed: Speed) -> f64 {
        self.push_nanos as f64 * 1e-9
    }

    /// The number of versions can end the case before its maximum time.
    fn expected_extent(&self, _given: Extent) -> Extent {
        Extent::DurationNanos(self.nominal_nanos())
    }

    fn additional_record_bytes(&self) -> u64 {
        u64::from(self.workers) * WORKER_BYTES
    }

    /// The trainer writes the versions or, in `Pull` mode, the workers read them from its memory.
    fn expected_bytes(&self, initiator: Vec<u64>, target: Vec<u64>) -> [Vec<u64>; 2] {
        [add(initiator, &target), Vec::new()]
    }

    /// The latencies include the time until a worker fetches a version.
    fn concurrent_operations(&self) -> Option<f64> {
        Some(f64::INFINITY)
    }

    /// Torn and outdated versions are transferred too.
    fn posts_only_payload(&self) -> bool {
        false
    }

    fn repeats_operations(&self) -> bool {
        false
    }

    fn has_target_memory(&self) -> bool {
        false
    }

    /// Every version is verified before it is used.
    fn has_integrity_pass(&self) -> bool {
        false
    }

    fn has_own_tables(&self) -> bool {
        true
    }
}
