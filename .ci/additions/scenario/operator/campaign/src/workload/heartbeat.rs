//! Rules of heartbeats.

use crds::assignment::{HeartbeatWorkload, ScenarioAssignment, Workload};
use crds::v1alpha1::{Heartbeat, ManyToMany};

use super::description;
use super::{Context, GivenWorkload, Speed, WorkloadRules, add};

impl GivenWorkload for Heartbeat {
    fn workload(&self, context: &mut Context<'_>) -> Workload {
        Workload::Heartbeat(HeartbeatWorkload {
            measured: context.at_least(self.beats),
        })
    }
}

impl WorkloadRules for HeartbeatWorkload {
    fn latency_name(&self) -> &'static str {
        "heartbeat"
    }

    fn latency_definition(&self) -> &'static str {
        "half the time until the answer"
    }

    fn operation_seconds(&self, speed: Speed) -> f64 {
        2.0 * (speed.latency + speed.wire)
    }

    fn measures_round_trips(&self) -> bool {
        true
    }

    /// Both sides send the same bytes.
    fn expected_bytes(&self, initiator: Vec<u64>, target: Vec<u64>) -> [Vec<u64>; 2] {
        let both = if target.is_empty() { initiator.clone() } else { add(target, &[]) };
        [initiator, both]
    }

    fn concurrent_operations(&self) -> Option<f64> {
        Some(0.5)
    }

    fn description(&self, scenario: &ScenarioAssignment, _many_to_many: Option<ManyToMany>) -> String {
        description::with_extents("heartbeat", scenario, "message")
    }
}
