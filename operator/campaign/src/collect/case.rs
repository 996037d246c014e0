//! One case of one pair in compact form: indexes into the plan replace names, and bucket counts replace histograms.

use crds::assignment::{Pass, Workload};
use crds::record::{
    CallReport, CaseFailure, CaseResult, CommandReport, CpuContention, Durations, ExclusiveQuantiles,
    FootprintReport, IntegrityReport, InterfaceDelta, OpenLoopReport, PostingCounters, SideReport,
    Simultaneous, WorkerReport,
};

use crate::stats::Distribution;

/// One case of one pair.
#[derive(Clone, Debug)]
pub struct Case {
    /// Number of the leg in which the case was measured.
    pub leg: u32,
    /// Attempt number.
    pub attempt: u32,
    /// Block number.
    pub block: u32,
    /// Round number.
    pub round: u32,
    /// Number of times that the instruments were restarted in this round before the case.
    pub restart: u32,
    /// Purpose of the block.
    pub pass: Pass,
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Index of the arm in the plan.
    pub arm: usize,
    /// Rank of the initiator.
    pub initiator: u32,
    /// Rank of the target.
    pub target: u32,
    /// Start time, in nanoseconds since the start of the stream.
    pub started_nanos: u64,
    /// Time from the command that opens the windows of all flows to the last report that a window has closed, in
    /// nanoseconds on the coordinator's clock; `None` for patterns other than many-to-many.
    pub span_nanos: Option<u64>,
    /// Outcome of the case.
    pub outcome: CaseOutcome,
}

impl Case {
    /// The measurements of a case whose purpose is to measure; `None` for checks and failed cases.
    pub fn measurement(&self) -> Option<&Measured> {
        match &self.outcome {
            CaseOutcome::Measured(measured) if self.pass == Pass::Measure => Some(measured),
            CaseOutcome::Measured(_) | CaseOutcome::Checked(_) | CaseOutcome::Failed(_) => None,
        }
    }
}

/// Outcome of a case.
#[derive(Clone, Debug)]
pub enum CaseOutcome {
    /// The case was measured.
    Measured(Box<Measured>),
    /// The case's bytes were verified.
    Checked(IntegrityReport),
    /// The case failed.
    Failed(CaseFailure),
}

/// Measurements of both sides during the measured window.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The initiator side.
    pub initiator: Side,
    /// The target side.
    pub target: Side,
}

impl Measured {
    /// The sides whose posts are measured.
    pub fn posting_sides(&self, workload: &Workload) -> impl Iterator<Item = &Side> {
        let sides = [&self.initiator, &self.target];
        let measuring = sides.into_iter().zip(workload.measuring_sides());
        measuring.filter_map(|(side, measures)| measures.then_some(side))
    }

    /// Posts of the [`posting_sides`](Self::posting_sides).
    pub fn posters(&self, workload: &Workload) -> impl Iterator<Item = &SidePosts> {
        self.posting_sides(workload)
            .filter_map(|side| side.posted.as_ref())
    }
}

/// Measurements of one side during the measured window. The fields have the same meaning as in [`SideReport`].
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "documented on the record type")]
pub struct Side {
    pub window_nanos: u64,
    pub cpu_nanos: u64,
    pub migrations: u64,
    pub throttled_nanos: Option<u64>,
    pub governor_changed: bool,
    pub posted: Option<SidePosts>,
    pub interfaces: Vec<InterfaceDelta>,
    pub contention: Option<CpuContention>,
    pub serving: Option<Box<ServingTimes>>,
}

/// Staleness in a parameter serving case. The fields have the same meaning as in [`crds::record::ServingReport`].
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "documented on the record type")]
pub struct ServingTimes {
    pub published: u64,
    pub workers: Vec<WorkerReport>,
    pub version_lag: Distribution,
    pub time_lag: Distribution,
    pub pull: Distribution,
    pub clock_bound_nanos: u64,
}

/// Posts of one side. The fields have the same meaning as in [`crds::record::Posted`].
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "documented on the record type")]
pub struct SidePosts {
    pub operations: u64,
    pub payload_bytes: u64,
    pub elapsed_nanos: u64,
    pub latency: Distribution,
    pub min_nanos: u64,
    pub max_nanos: u64,
    pub exclusive_quantiles: Option<ExclusiveQuantiles>,
    pub counters: PostingCounters,
    pub open_loop: Option<OpenLoopReport>,
    pub flush: Option<Distribution>,
    pub ping: Option<PingTimes>,
    pub call: Option<CallReport>,
    pub footprint: Option<FootprintReport>,
    pub command: Option<CommandReport>,
    pub simultaneous: Option<Simultaneous>,
    pub read_back: Option<Distribution>,
    pub first_burst_nanos: Option<u64>,
}

/// Round-trip times of pings. The fields have the same meaning as in [`crds::record::PingReport`].
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "documented on the record type")]
pub struct PingTimes {
    pub idle: Distribution,
    pub loaded: Distribution,
}

impl SidePosts {
    /// Number of completed operations, their payload bytes, and the time in which they completed, in nanoseconds, for
    /// computing rates. For a flow of the many-to-many pattern or a direction of a bidirectional closed loop, the
    /// values cover the window in which all flows or both directions are active.
    pub fn timed(&self) -> (u64, u64, u64) {
        match &self.simultaneous {
            Some(window) => (window.operations, window.payload_bytes, window.elapsed_nanos),
            None => (self.operations, self.payload_bytes, self.elapsed_nanos),
        }
    }

    /// Payload bytes per second, if above 0.
    pub fn payload_rate(&self) -> Option<f64> {
        let (_, payload_bytes, elapsed_nanos) = self.timed();
        let rate = payload_bytes as f64 / (elapsed_nanos as f64 / 1e9);
        Some(rate).filter(|rate| rate.is_finite() && *rate > 0.0)
    }
}

impl From<CaseResult> for CaseOutcome {
    fn from(result: CaseResult) -> Self {
        match result {
            CaseResult::Measured(measurement) => Self::Measured(Box::new(Measured {
                initiator: measurement.initiator.into(),
                target: measurement.target.into(),
            })),
            CaseResult::Checked(report) => Self::Checked(report),
            CaseResult::Failed(failure) => Self::Failed(failure),
        }
    }
}

impl From<SideReport> for Side {
    fn from(report: SideReport) -> Self {
        Self {
            window_nanos: report.window_nanos,
            cpu_nanos: report.cpu_nanos,
            migrations: report.migrations,
            throttled_nanos: report.throttled_nanos,
            governor_changed: report.governor_changed,
            posted: report.posted.map(|posted| SidePosts {
                latency: Distribution::with_maximum(&posted.latency, posted.max_nanos),
                operations: posted.operations,
                payload_bytes: posted.payload_bytes,
                elapsed_nanos: posted.elapsed_nanos,
                min_nanos: posted.min_nanos,
                max_nanos: posted.max_nanos,
                exclusive_quantiles: posted.exclusive_quantiles,
                counters: posted.counters,
                open_loop: posted.open_loop,
                flush: posted.flush.map(|durations| distribution(&durations)),
                ping: posted.ping.map(|ping| PingTimes {
                    idle: distribution(&ping.idle),
                    loaded: distribution(&ping.loaded),
                }),
                call: posted.call,
                footprint: posted.footprint,
                command: posted.command,
                simultaneous: posted.simultaneous,
                read_back: posted.read_back.map(|durations| distribution(&durations)),
                first_burst_nanos: posted.first_burst_nanos,
            }),
            interfaces: report.interfaces,
            contention: report.contention,
            serving: report.serving.map(|serving| {
                Box::new(ServingTimes {
                    published: serving.published,
                    workers: serving.workers,
                    version_lag: Distribution::with_maximum(&serving.version_lag, serving.max_version_lag),
                    time_lag: distribution(&serving.time_lag),
                    pull: serving.pull.as_ref().map(distribution).unwrap_or_default(),
                    clock_bound_nanos: serving.clock_bound_nanos,
                })
            }),
        }
    }
}

fn distribution(durations: &Durations) -> Distribution {
    Distribution::with_maximum(&durations.histogram, durations.max_nanos)
}
