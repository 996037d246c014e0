//! Values of one arm, comparison or pair at one size, as integers.

use crds::v1alpha1::{
    ArmResult, BenchmarkRunStatus, CallResult, CaseValidity, ComparisonResult, DirectionsResult,
    DisturbanceResult, Engagement, FlowsResult, FlushResult, FootprintResult, Metric, Optimization,
    PairResult, PingResult, ReadBackResult, ServingResult, Verdict, WithheldReason,
};

use super::names::NameTable;

/// Values of one arm, comparison or pair at one size. Names are indexes into [`super::Names`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// Results of an arm.
    Arm(ArmValues),
    /// Comparison of an arm with the baseline.
    Comparison(ComparisonValues),
    /// Deviation of a pair of nodes.
    Pair(PairValues),
}

/// Results of an arm, in the units of [`ArmResult`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in the status")]
pub struct ArmValues {
    pub scenario: u32,
    pub arm: u32,
    pub size_bytes: u64,
    /// Latency at each quantile in [`QUANTILES`].
    pub latency_nanos: [Option<u64>; 6],
    pub bytes_per_second: Option<u64>,
    pub completions_per_second: Option<u64>,
    pub cpu_nanos_per_gib: Option<u64>,
    pub valid_rounds: u32,
    pub valid: bool,
    /// Engagement of each optimization in [`OPTIMIZATIONS`].
    pub engagements: [Option<Engagement>; 3],
    /// Additional observations. Boxed, because most arms have none.
    pub observed: Option<Box<ObservedValues>>,
}

/// Results that most arms do not have, in the units of [`ArmResult`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in the status")]
pub struct ObservedValues {
    pub directions: Option<DirectionsResult>,
    pub flush: Option<FlushResult>,
    pub ping: Option<PingResult>,
    pub call: Option<CallResult>,
    pub footprint: Option<FootprintResult>,
    pub flows: Option<FlowsResult>,
    pub read_back: Option<ReadBackResult>,
    /// Other work on the machines and interfaces.
    pub disturbance: Option<DisturbanceResult>,
    pub first_batch_nanos: Option<u64>,
    pub reported_latency_nanos: Option<u64>,
    pub reported_bytes_per_second: Option<u64>,
    pub serving: Option<ServingResult>,
}

/// Quantiles of latency as label values: minimum, percentiles, maximum.
pub const QUANTILES: [&str; 6] = ["0", "0.5", "0.95", "0.99", "0.999", "1"];

/// All optimizations.
pub const OPTIMIZATIONS: [Optimization; 3] = [
    Optimization::Inject,
    Optimization::Doorbell,
    Optimization::Coalesce,
];

/// Comparison of an arm with the baseline, in the units of [`ComparisonResult`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in the status")]
pub struct ComparisonValues {
    pub scenario: u32,
    pub arm: u32,
    pub size_bytes: u64,
    pub metric: Metric,
    pub primary: bool,
    pub negative_control: bool,
    pub effect_ppm: Option<i64>,
    pub lower_ppm: Option<i64>,
    pub upper_ppm: Option<i64>,
    pub verdict: Option<Verdict>,
    pub withheld: Option<WithheldReason>,
}

/// Deviation of a pair of nodes, in the units of [`PairResult`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "documented in the status")]
pub struct PairValues {
    pub scenario: u32,
    pub initiator: u32,
    pub target: u32,
    pub size_bytes: u64,
    pub deviation_ppm: i64,
}

/// Row whose names have not been interned yet.
pub(in crate::metrics) struct NamedRow<'a> {
    scenario: &'a str,
    /// Arm, or initiator and target node.
    parties: [&'a str; 2],
    row: Row,
}

/// Identity of a row: kind, scenario, size, arm or nodes, and metric.
pub(in crate::metrics) type RowKey<'a> = (u8, &'a str, u64, [&'a str; 2], Option<Metric>);

/// Returns the rows for a status, most important first.
pub(in crate::metrics) fn rows(status: &BenchmarkRunStatus) -> Vec<NamedRow<'_>> {
    let (primary, described): (Vec<_>, Vec<_>) = status.comparisons.iter().partition(|one| one.primary);
    let primary = primary.into_iter().map(comparison);
    primary
        .chain(status.pairs.iter().map(pair))
        .chain(status.results.iter().map(arm))
        .chain(described.into_iter().map(comparison))
        .collect()
}

impl<'a> NamedRow<'a> {
    pub(in crate::metrics) fn row(&self) -> &Row {
        &self.row
    }

    pub(in crate::metrics) fn key(&self) -> RowKey<'a> {
        let (kind, size, metric) = match &self.row {
            Row::Arm(arm) => (0, arm.size_bytes, None),
            Row::Comparison(comparison) => (1, comparison.size_bytes, Some(comparison.metric)),
            Row::Pair(pair) => (2, pair.size_bytes, None),
        };
        (kind, self.scenario, size, self.parties, metric)
    }

    /// Converts to a [`Row`] whose names are interned in `names`.
    pub(in crate::metrics) fn into_row(self, names: &mut NameTable<'a>) -> Row {
        let scenario = names.index(self.scenario);
        let [first, second] = self.parties;
        match self.row {
            Row::Arm(row) => Row::Arm(ArmValues {
                scenario,
                arm: names.index(first),
                ..row
            }),
            Row::Comparison(row) => Row::Comparison(ComparisonValues {
                scenario,
                arm: names.index(first),
                ..row
            }),
            Row::Pair(row) => Row::Pair(PairValues {
                scenario,
                initiator: names.index(first),
                target: names.index(second),
                ..row
            }),
        }
    }
}

fn observed_values(result: &ArmResult) -> Option<Box<ObservedValues>> {
    let observed = ObservedValues {
        directions: result.directions,
        flush: result.flush,
        ping: result.ping,
        call: result.call,
        footprint: result.footprint,
        flows: result.flows,
        read_back: result.read_back,
        disturbance: result.disturbance,
        first_batch_nanos: result.first_batch_nanos,
        reported_latency_nanos: result.reported_latency_nanos,
        reported_bytes_per_second: result.reported_bytes_per_second,
        serving: result.serving,
    };
    (observed != ObservedValues::default()).then(|| Box::new(observed))
}

fn arm(result: &ArmResult) -> NamedRow<'_> {
    let engagement = |optimization| {
        let mut all = result.optimizations.iter();
        all.find(|one| one.optimization == optimization)
            .map(|one| one.engagement)
    };
    NamedRow {
        scenario: &result.scenario,
        parties: [&result.arm, ""],
        row: Row::Arm(ArmValues {
            scenario: 0,
            arm: 0,
            size_bytes: result.size_bytes,
            latency_nanos: [
                result.min_nanos,
                result.p50_nanos,
                result.p95_nanos,
                result.p99_nanos,
                result.p999_nanos,
                result.max_nanos,
            ],
            bytes_per_second: result.bytes_per_second,
            completions_per_second: result.completions_per_second,
            cpu_nanos_per_gib: result.cpu_nanos_per_gib,
            observed: observed_values(result),
            valid_rounds: result.valid_rounds,
            valid: result.validity == CaseValidity::Valid,
            engagements: OPTIMIZATIONS.map(engagement),
        }),
    }
}

fn comparison(result: &ComparisonResult) -> NamedRow<'_> {
    NamedRow {
        scenario: &result.scenario,
        parties: [&result.arm, ""],
        row: Row::Comparison(ComparisonValues {
            scenario: 0,
            arm: 0,
            size_bytes: result.size_bytes,
            metric: result.metric,
            primary: result.primary,
            negative_control: result.negative_control,
            effect_ppm: result.effect_ppm,
            lower_ppm: result.lower_ppm,
            upper_ppm: result.upper_ppm,
            verdict: result.verdict,
            withheld: result.withheld,
        }),
    }
}

fn pair(result: &PairResult) -> NamedRow<'_> {
    NamedRow {
        scenario: &result.scenario,
        parties: [&result.initiator, &result.target],
        row: Row::Pair(PairValues {
            scenario: 0,
            initiator: 0,
            target: 0,
            size_bytes: result.size_bytes,
            deviation_ppm: result.deviation_ppm,
        }),
    }
}
