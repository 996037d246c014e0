//! Rules of ping-pongs.

use crds::assignment::{PingPongWorkload, ScenarioAssignment, Workload};
use crds::v1alpha1::{ManyToMany, PingPong};

use super::description;
use super::{Context, GivenWorkload, Speed, WorkloadRules};

impl GivenWorkload for PingPong {
    fn workload(&self, context: &mut Context<'_>) -> Workload {
        Workload::PingPong(PingPongWorkload {
            operation: self.operation,
            measured: context.measured(self.iterations, self.duration),
            warmup: context.warmup(self.warmup, self.warmup_duration),
        })
    }
}

impl WorkloadRules for PingPongWorkload {
    fn latency_name(&self) -> &'static str {
        "one-way"
    }

    fn latency_definition(&self) -> &'static str {
        "half the round-trip time"
    }

    fn operation_seconds(&self, speed: Speed) -> f64 {
        2.0 * (speed.latency + speed.wire)
    }

    fn measures_round_trips(&self) -> bool {
        true
    }

    /// The echo is as long as its message.
    fn expected_bytes(&self, initiator: Vec<u64>, target: Vec<u64>) -> [Vec<u64>; 2] {
        let echo = Some(target).filter(|echo| !echo.is_empty());
        [initiator.clone(), echo.unwrap_or(initiator)]
    }

    fn concurrent_operations(&self) -> Option<f64> {
        // A sample is half a round trip, and only one message is in flight.
        Some(0.5)
    }

    fn description(&self, scenario: &ScenarioAssignment, _many_to_many: Option<ManyToMany>) -> String {
        let what = format!("ping-pong {:?}", self.operation);
        description::with_extents(&what, scenario, "round trip")
    }
}
