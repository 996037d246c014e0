//! Rules of calls.

pub(crate) mod summary;

use std::time::Duration;

use crds::assignment::{Extent, RpcWorkload, ScenarioAssignment, Workload};
use crds::v1alpha1::{Load, ManyToMany, Rpc, RpcPayload};

use super::description;
use super::{CellCases, Context, GivenWorkload, OwnResults, Speed, WorkloadRules};
use crate::format::pluralized;
use crate::validate::{durations, sizes};

impl GivenWorkload for Rpc {
    fn workload(&self, context: &mut Context<'_>) -> Workload {
        let largest = self.payloads.iter().map(|payload| payload.size().bytes()).max();
        let open_loop = self.load.map(Load::lowest);
        if let Some(open_loop) = open_loop {
            let longest = durations::longest_schedule(self.iterations(), open_loop);
            if longest > Duration::from_secs(self.timeout_seconds.into()) {
                let message = format!(
                    "{iterations} samples at {rate} samples/s can last up to {longest:.1?}, which \
                     `timeoutSeconds` ({timeout}) does not allow. Use fewer iterations, a higher rate or a \
                     longer timeout",
                    iterations = self.iterations(),
                    rate = open_loop.rate,
                    timeout = self.timeout_seconds
                );
                context.add("load", message);
            }
        }
        Workload::Rpc(RpcWorkload {
            pattern: self.pattern,
            hops: self.hops(),
            message_bytes: largest.filter(|_| context.calls_over_transport).unwrap_or(0),
            gpu: None,
            timeout_seconds: self.timeout_seconds,
            open_loop,
            measured: Extent::Iterations(self.iterations()),
            warmup: Extent::Iterations(self.warmup()),
        })
    }

    fn valid_sizes(&self, context: &mut Context<'_>) -> Vec<u64> {
        let path = context.workload_path();
        sizes::payloads(&path, self, context.calls_over_transport, context.report)
    }
}

impl WorkloadRules for RpcWorkload {
    fn latency_name(&self) -> &'static str {
        match self.open_loop {
            Some(_) => "start-to-reply",
            None => "call-to-reply",
        }
    }

    fn latency_definition(&self) -> &'static str {
        match self.open_loop {
            Some(_) => "the time from the intended start of a sample to the reply to its first call",
            None => "the time from the first call of a sample to its reply",
        }
    }

    /// Only one sample is in progress at a time.
    fn operation_seconds(&self, speed: Speed) -> f64 {
        let sample = f64::from(self.hops) * (2.0 * speed.latency + speed.wire);
        speed.interval.map_or(sample, |interval| interval.max(sample))
    }

    fn limit_seconds(&self) -> Option<f64> {
        Some(f64::from(self.timeout_seconds))
    }

    /// A call can have several messages with a payload.
    fn posts_only_payload(&self) -> bool {
        false
    }

    fn has_target_memory(&self) -> bool {
        false
    }

    fn own_results(&self, cases: &CellCases<'_>) -> OwnResults {
        OwnResults {
            call: summary::summary(self, cases),
            ..OwnResults::default()
        }
    }

    fn has_own_tables(&self) -> bool {
        true
    }

    fn longer_windows(&self) -> &'static str {
        "more rpc.iterations"
    }

    fn can_be_below_clock(&self) -> bool {
        true
    }

    fn payload_name(&self, size_bytes: u64) -> Option<&'static str> {
        Some(RpcPayload::with_size(size_bytes)?.name())
    }

    fn description(&self, scenario: &ScenarioAssignment, _many_to_many: Option<ManyToMany>) -> String {
        let what = format!(
            "calls {:?} · {}{} · at most {} s",
            self.pattern,
            pluralized(self.hops.into(), "hop"),
            description::open_loop(self),
            self.timeout_seconds
        );
        description::with_extents(&what, scenario, "sample")
    }
}
