//! Rules of calls.

use crds::assignment::RpcWorkload;

use super::{Speed, WorkloadRules};

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

    fn has_own_tables(&self) -> bool {
        true
    }

    fn longer_windows(&self) -> &'static str {
        "more rpc.iterations"
    }
}
