//! Result of a case on one pair of workers: a measurement, an integrity report or a failure.

mod command;
mod counters;
mod failure;
mod footprint;
mod integrity;
mod interface;

use serde::{Deserialize, Serialize};

pub use command::{CommandReport, PrintedRange};
pub use counters::PostingCounters;
pub use failure::{CaseFailure, FailureReason};
pub use footprint::FootprintReport;
pub use integrity::{IntegrityReport, Mismatch};
pub use interface::{InterfaceDelta, SoftwareDevice};

use super::{CpuContention, Observations, ServingReport};
use crate::assignment::{Pass, Workload};
use crate::histogram::Histogram;
use crate::omitted::is_zero;
use crate::quantity::Observation;

/// Result of a case on one pair of workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CaseRecord {
    /// Index of the block in the plan.
    pub block: u32,
    /// Round number.
    pub round: u32,
    /// Number of times that the instruments were restarted in this round before the case, because a worker or an
    /// instrument was lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restart: u32,
    /// Purpose of the block.
    pub pass: Pass,
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Name of the arm.
    pub arm: String,
    /// Position of the arm in the order of its block, starting at 0.
    pub position: u32,
    /// Rank of the initiator.
    pub initiator: u32,
    /// Rank of the target.
    pub target: u32,
    /// Time at which the case started, in nanoseconds since the start of the stream.
    pub started_nanos: u64,
    /// Time from the command that opens the windows of all flows to the last report that a window has closed, in
    /// nanoseconds on the coordinator's clock. Set only for the many-to-many pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_nanos: Option<u64>,
    /// Result of the case.
    pub result: CaseResult,
}

/// Result of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CaseResult {
    /// The case was measured.
    Measured(Box<Measurement>),
    /// The integrity of the data was checked.
    Checked(IntegrityReport),
    /// The case failed.
    Failed(CaseFailure),
}

/// Reports from both workers of a pair on the measured window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Measurement {
    /// Report from the initiator, which posts first.
    pub initiator: SideReport,
    /// Report from the target.
    pub target: SideReport,
}

impl Measurement {
    /// Reports from the sides whose posts are measured.
    pub fn posting_sides(&self, workload: &Workload) -> impl Iterator<Item = &SideReport> {
        let sides = [&self.initiator, &self.target];
        let measuring = sides.into_iter().zip(workload.measuring_sides());
        measuring.filter_map(|(side, measures)| measures.then_some(side))
    }

    /// Posts of the [`posting_sides`](Self::posting_sides).
    pub fn posters(&self, workload: &Workload) -> impl Iterator<Item = &Posted> {
        self.posting_sides(workload)
            .filter_map(|side| side.posted.as_ref())
    }
}

/// Report from one worker on the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SideReport {
    /// Length of the measured window according to this worker's clock, in nanoseconds.
    pub window_nanos: u64,
    /// User and system CPU time of all threads of the instrument process, and of an extension that it started, during
    /// the window, in nanoseconds. If the process runs several flows at the same time, the CPU time is divided by their
    /// number.
    pub cpu_nanos: u64,
    /// Number of voluntary context switches during the window.
    pub voluntary_switches: u64,
    /// Number of involuntary context switches during the window.
    pub involuntary_switches: u64,
    /// Number of pinned threads that were observed on a CPU other than their own during the window.
    pub migrations: u64,
    /// Time for which the cgroup was throttled during the window, in nanoseconds. Unset if the kernel does not report
    /// throttling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_nanos: Option<u64>,
    /// Whether the CPU frequency governor changed during the window.
    pub governor_changed: bool,
    /// Operations posted by this worker. Unset for a worker that posts no operations. In parameter serving, the
    /// operations of the initiator are the versions that it delivered, and those of the target are the versions that
    /// its workers used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posted: Option<Posted>,
    /// Staleness of the parameters that the workers used. Only the target of a parameter serving case reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<Box<ServingReport>>,
    /// Counter deltas of the rails' network interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceDelta>,
    /// Competition for the CPUs of this worker during the window. Unset if the kernel reports neither run-queue waits nor
    /// the use of the CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<CpuContention>,
}

/// Operations posted by one worker in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Posted {
    /// Number of completed round trips or transfers.
    pub operations: u64,
    /// Payload bytes of the operations, in one direction.
    pub payload_bytes: u64,
    /// Time from the first post to the last completion, in nanoseconds.
    pub elapsed_nanos: u64,
    /// Latency distribution of the operations: half the round-trip time for ping-pong, the time from the call to its
    /// reply for calls, or the time from post to completion for transfers. In an open loop, it counts from the intended
    /// start. In parameter serving, it counts from the publication of a version: to its delivery to all workers for the
    /// initiator, and to its first use by each worker for the target.
    pub latency: Histogram,
    /// Exact minimum latency, in nanoseconds. Values in the histogram are rounded.
    pub min_nanos: u64,
    /// Exact maximum latency, in nanoseconds.
    pub max_nanos: u64,
    /// Percentiles of the raw samples. Unset if the samples were not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusive_quantiles: Option<ExclusiveQuantiles>,
    /// Posting counters.
    pub counters: PostingCounters,
    /// Start times of the transfers or samples in an open loop. Unset for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoopReport>,
    /// Values specific to calls. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallReport>,
    /// Memory use of the host and the consumers of a tensor. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<FootprintReport>,
    /// Values that a command reported. Unset for other workloads. A command's record contains no latency distribution,
    /// because its tool does not report one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandReport>,
    /// Transfers of the window in which all flows of the many-to-many pattern, or both directions of a bidirectional
    /// closed loop, are active. The latencies include only these transfers, while the other values also include the
    /// transfers before and after this window. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simultaneous: Option<Simultaneous>,
    /// Other observations of the workload.
    #[serde(flatten)]
    pub observations: Observations,
}

/// Values specific to calls between isolated processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CallReport {
    /// Mean of the samples, in nanoseconds.
    pub mean_nanos: f64,
    /// Standard deviation of the samples with the divisor n - 1, in nanoseconds. Unset for a single sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation_nanos: Option<f64>,
    /// Proportional set size of the host and its extension after the warm-up, in bytes. Over a transport, the extension
    /// is the other worker, and its memory is not included. Unset if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_before_bytes: Option<u64>,
    /// Proportional set size of the host and its extension after the measured window, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_after_bytes: Option<u64>,
}

impl Posted {
    /// Number of completed operations, their payload bytes, and the time in which they completed, in nanoseconds, for
    /// computing rates. The values come from `simultaneous` if it is set.
    pub fn timed(&self) -> (u64, u64, u64) {
        match &self.simultaneous {
            Some(window) => (window.operations, window.payload_bytes, window.elapsed_nanos),
            None => (self.operations, self.payload_bytes, self.elapsed_nanos),
        }
    }

    /// Number of pings.
    pub fn pings(&self) -> u64 {
        let pings = [Observation::PingIdle, Observation::PingLoaded];
        let pings = pings.map(|state| self.observations.distribution(state));
        pings
            .into_iter()
            .flatten()
            .map(|pings| pings.histogram.count())
            .sum()
    }

    /// Payload bytes per second, if above 0.
    pub fn payload_rate(&self) -> Option<f64> {
        let (_, payload_bytes, elapsed_nanos) = self.timed();
        let rate = payload_bytes as f64 / (elapsed_nanos as f64 / 1e9);
        Some(rate).filter(|rate| rate.is_finite() && *rate > 0.0)
    }
}

/// Transfers of one flow in the window in which all flows of the many-to-many pattern are active, or of one direction
/// in the window in which both are. The flow or direction posts continuously from before the window until after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Simultaneous {
    /// Number of transfers that completed in the threads' windows.
    pub operations: u64,
    /// Payload bytes of these transfers.
    pub payload_bytes: u64,
    /// Length of the window, from one completion to another, in nanoseconds. Every thread has its own window. If there
    /// are several threads, this is the mean length for which `payloadBytes / elapsedNanos` equals the sum of the
    /// threads' rates.
    pub elapsed_nanos: u64,
    /// Time from the first post to the start of the first window, in nanoseconds.
    pub lead_nanos: u64,
    /// Time from the end of the last window to the last completion, in nanoseconds.
    pub tail_nanos: u64,
}

/// Start times of the transfers or samples in an open loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OpenLoopReport {
    /// Time from the first to the last intended start, in nanoseconds. If there are several threads, this is the
    /// longest of their times.
    pub intended_nanos: u64,
    /// Number of transfers that started late because the window was full, or of samples that started late because the
    /// previous one was in progress.
    pub late: u64,
}

/// Percentiles of raw samples by exclusive interpolation, as computed by `statistics.quantiles` in Python: for n
/// samples, the value at rank (n + 1)p for probability p.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExclusiveQuantiles {
    /// Median in nanoseconds.
    pub p50_nanos: f64,
    /// 95th percentile in nanoseconds: `quantiles(samples, n=20)[18]`.
    pub p95_nanos: f64,
    /// 99th percentile in nanoseconds: `quantiles(samples, n=100)[98]`.
    pub p99_nanos: f64,
}
