//! Time limits of a case. Every process that takes part in a case derives its limit from the same [`CaseLimits`], so that
//! an inner process always fails, and reports the cause, before an outer one gives up on it. Performs no I/O.

use std::time::Duration;

use super::{Assignment, Workload};
use crate::v1alpha1::RpcChannel;

/// Extra time to wait for a reply beyond the limit that the other process itself enforces.
pub const GRACE: Duration = Duration::from_secs(5);
/// Longest time in which an instrument allocates, fills, checks or frees one byte of a payload, in nanoseconds: 500 MB/s,
/// a fifth of the slowest rate of one core that has been observed.
const NANOS_PER_BYTE: u64 = 2;
/// Longest duration of a measurement or of a warm-up in a spec. A case may take twice as long, which is the maximum of
/// `runPolicy.caseDeadlineSeconds`.
pub const MAX_DURATION: Duration = Duration::from_secs(1800);

/// Time limits of one case, from the innermost process to the outermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseLimits {
    /// Limit that an instrument applies to its side of the case.
    pub instrument: Duration,
    /// Time that a worker waits for its instrument, which can be copying or freeing a payload when its limit passes.
    pub worker: Duration,
    /// Time that the coordinator waits for a worker, which can be ending its instrument.
    pub coordinator: Duration,
}

impl CaseLimits {
    /// Limits around an instrument's limit, for a case whose processes copy `copied_bytes` bytes in total.
    fn around(instrument: Duration, copied_bytes: u64) -> Self {
        let worker = instrument + GRACE + copy_time(copied_bytes);
        Self {
            instrument,
            worker,
            coordinator: worker + GRACE + copy_time(copied_bytes),
        }
    }
}

impl Assignment {
    /// `caseDeadlineSeconds` as a duration: the limit of a case whose scenario does not need more time.
    pub fn case_deadline(&self) -> Duration {
        Duration::from_secs(self.case_deadline_seconds.into())
    }

    /// Limits of a case of the arm and the scenario with these indexes and with `size_bytes` bytes. An unknown index, which
    /// is rejected when the assignment is read, has the limits of a case without an own limit.
    pub fn case_limits(&self, scenario: u32, arm: u32, size_bytes: u64) -> CaseLimits {
        let scenario = self.scenarios.get(scenario as usize);
        let arm = self.arms.get(arm as usize);
        match scenario.zip(arm) {
            Some((scenario, arm)) => {
                let deadline = self.case_deadline();
                scenario.workload.case_limits(arm.channel, size_bytes, deadline)
            }
            None => CaseLimits::around(self.case_deadline(), size_bytes),
        }
    }

    /// Limits of a step without a payload, such as a probe.
    pub fn step_limits(&self) -> CaseLimits {
        CaseLimits::around(self.case_deadline(), 0)
    }
}

impl Workload {
    /// Limits of a case of an arm with `channel` and a payload of `size_bytes` bytes. `case_deadline` is the limit unless
    /// the workload needs more time or has a limit of its own.
    pub fn case_limits(&self, channel: RpcChannel, size_bytes: u64, case_deadline: Duration) -> CaseLimits {
        let copied_bytes = size_bytes.saturating_mul(self.copies());
        let instrument = self.instrument_limit(channel, case_deadline, copy_time(copied_bytes));
        CaseLimits::around(instrument, copied_bytes)
    }
}

/// Time to copy `bytes`, in whole seconds, so that limits of small payloads are those in the spec.
fn copy_time(bytes: u64) -> Duration {
    Duration::from_secs(bytes.saturating_mul(NANOS_PER_BYTE) / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::{Extent, FootprintWorkload, PingPongWorkload, RpcWorkload};
    use crate::v1alpha1::{PingPongOperation, RpcPattern, RpcPayload};

    const DEADLINE: Duration = Duration::from_secs(60);

    fn rpc(timeout_seconds: u32) -> Workload {
        Workload::Rpc(RpcWorkload {
            gpu: None,
            pattern: RpcPattern::Call,
            hops: 1,
            message_bytes: 0,
            timeout_seconds,
            open_loop: None,
            measured: Extent::Iterations(10),
            warmup: Extent::Iterations(1),
        })
    }

    fn footprint(consumers: u32, timeout_seconds: u32) -> Workload {
        Workload::MemoryFootprint(FootprintWorkload {
            gpu: None,
            consumers,
            distributions: 5,
            timeout_seconds,
            measured: Extent::Iterations(5 * consumers),
        })
    }

    fn ping_pong(measured: Extent) -> Workload {
        Workload::PingPong(PingPongWorkload {
            operation: PingPongOperation::Send,
            measured,
            warmup: Extent::Iterations(1),
        })
    }

    /// An outer process that gives up first discards the results of all cases.
    #[test]
    fn an_outer_limit_is_longer_than_an_inner_one() {
        let sizes = [0, 8, RpcPayload::ModelTensor.size().bytes(), 64 << 30];
        let minute = Extent::DurationNanos(60_000_000_000);
        for work in [
            rpc(1),
            rpc(3600),
            footprint(1, 60),
            footprint(100, 1),
            ping_pong(minute),
        ] {
            for channel in [RpcChannel::Transport, RpcChannel::UnixSocket, RpcChannel::Local] {
                for size in sizes {
                    let limits = work.case_limits(channel, size, DEADLINE);
                    assert!(limits.instrument + GRACE <= limits.worker, "{limits:?}");
                    assert!(limits.worker + GRACE <= limits.coordinator, "{limits:?}");
                }
            }
        }
    }

    #[test]
    fn the_limit_is_the_deadline_unless_the_scenario_needs_more() {
        let instrument =
            |work: &Workload, channel| work.case_limits(channel, 8, DEADLINE).instrument.as_secs();
        assert_eq!(instrument(&rpc(30), RpcChannel::Transport), 30);
        assert_eq!(instrument(&rpc(30), RpcChannel::UnixSocket), 60);
        assert_eq!(instrument(&rpc(90), RpcChannel::UnixSocket), 100);
        assert_eq!(instrument(&rpc(90), RpcChannel::Transport), 90);
        assert_eq!(instrument(&footprint(1, 60), RpcChannel::Tcp), 70);
        let seconds = |seconds: u64| ping_pong(Extent::DurationNanos(seconds * 1_000_000_000));
        assert_eq!(instrument(&seconds(30), RpcChannel::Transport), 60);
        assert_eq!(instrument(&seconds(45), RpcChannel::Transport), 90);
        assert_eq!(
            instrument(&ping_pong(Extent::Iterations(9)), RpcChannel::Transport),
            60
        );
    }

    /// The extension's own limit starts after the host has filled the payload.
    #[test]
    fn a_large_payload_extends_the_limit() {
        let limit = |size| {
            rpc(5)
                .case_limits(RpcChannel::UnixSocket, size, DEADLINE)
                .instrument
        };
        let model = RpcPayload::ModelTensor.size().bytes();
        assert!(limit(model) > limit(8) + Duration::from_secs(2 * 12));
    }
}
