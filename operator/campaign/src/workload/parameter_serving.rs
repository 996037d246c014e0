//! Rules of parameter serving.

mod given;
pub(crate) mod summary;

use crds::assignment::{Delivery, Extent, ScenarioAssignment, ServingWorkload};
use crds::units::Size;
use crds::v1alpha1::ManyToMany;

use super::description;
use super::rules::add;
use super::{CellCases, OwnResults, Speed, WorkloadRules};

use crate::format::pluralized;
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

    fn own_results(&self, cases: &CellCases<'_>) -> OwnResults {
        OwnResults {
            serving: summary::serving(self, cases),
            ..OwnResults::default()
        }
    }

    /// A trainer's flows deliver the same versions.
    fn has_flow_rates(&self) -> bool {
        false
    }

    fn has_own_tables(&self) -> bool {
        true
    }

    fn description(&self, scenario: &ScenarioAssignment, many_to_many: Option<ManyToMany>) -> String {
        let delivery = match &self.delivery {
            Delivery::Filesystem { directory } => format!(" in {directory}"),
            Delivery::Multicast(multicast) => format!(
                " to {} in datagrams of {}{}",
                multicast.destination,
                Size(multicast.datagram_bytes.into()),
                multicast
                    .bytes_per_second
                    .map_or_else(String::new, |rate| format!(" at most {}/s", Size(rate)))
            ),
            Delivery::Push | Delivery::Pull => format!(" · {:?}", scenario.memory),
        };
        let pull = match self.delivery {
            Delivery::Filesystem { .. } | Delivery::Pull => {
                format!(" · pull {}", description::duration(self.pull_nanos))
            }
            Delivery::Multicast(_) | Delivery::Push => String::new(),
        };
        let pods = many_to_many.map_or_else(String::new, |pattern| {
            format!(
                " in the pod of each of {}",
                pluralized(pattern.receivers.into(), "receiver")
            )
        });
        format!(
            "parameter serving {}{delivery} · {}{pods} · push {}{pull} · post {} · step {} · {} or {}{}",
            self.delivery.mode(),
            pluralized(self.workers.into(), "worker"),
            description::duration(self.push_nanos),
            description::duration(self.post_nanos),
            description::duration(self.step_nanos),
            pluralized(self.max_version.into(), "version"),
            description::duration(self.max_time_nanos),
            description::polling(scenario),
        )
    }
}
