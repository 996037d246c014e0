//! One arm, comparison or pair at one size, as integers.

use crds::v1alpha1::{
    ArmResult, BenchmarkRunStatus, CaseValidity, ComparisonResult, Engagement, Metric, Optimization,
    PairResult, Verdict, WithheldReason,
};

use super::names::NameTable;

/// One arm, comparison or pair at one size. Names are places in [`super::Names`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// What an arm did.
    Arm(ArmFigures),
    /// What an arm did against the baseline.
    Comparison(ComparisonFigures),
    /// What the baseline did on one pair of nodes.
    Pair(PairFigures),
}

/// What an arm did; numbers as in [`ArmResult`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as documented for the status")]
pub struct ArmFigures {
    pub scenario: u32,
    pub arm: u32,
    pub size_bytes: u64,
    /// At the quantiles of [`QUANTILES`].
    pub latency_nanos: [Option<u64>; 6],
    pub bytes_per_second: Option<u64>,
    pub completions_per_second: Option<u64>,
    pub cpu_nanos_per_gib: Option<u64>,
    pub valid_rounds: u32,
    pub valid: bool,
    /// Of the optimizations of [`OPTIMIZATIONS`].
    pub engagements: [Option<Engagement>; 3],
}

/// Quantiles of a latency, as label values: the smallest sample, percentiles, the largest sample.
pub const QUANTILES: [&str; 6] = ["0", "0.5", "0.95", "0.99", "0.999", "1"];

/// Every optimization.
pub const OPTIMIZATIONS: [Optimization; 3] = [
    Optimization::Inject,
    Optimization::Doorbell,
    Optimization::Coalesce,
];

/// What an arm did against the baseline; numbers as in [`ComparisonResult`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as documented for the status")]
pub struct ComparisonFigures {
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

/// What the baseline did on one pair of nodes; numbers as in [`PairResult`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as documented for the status")]
pub struct PairFigures {
    pub scenario: u32,
    pub initiator: u32,
    pub target: u32,
    pub size_bytes: u64,
    pub deviation_ppm: i64,
}

/// A row whose names have no places yet.
pub(super) struct Named<'a> {
    scenario: &'a str,
    /// An arm, or a pair of nodes.
    who: [&'a str; 2],
    row: Row,
}

/// What tells rows apart: kind, scenario, size, arm or nodes, metric.
pub(super) type Place<'a> = (u8, &'a str, u64, [&'a str; 2], Option<Metric>);

/// Everything that was measured: the most important first.
pub(super) fn rows(status: &BenchmarkRunStatus) -> Vec<Named<'_>> {
    let (primary, described): (Vec<_>, Vec<_>) = status.comparisons.iter().partition(|one| one.primary);
    let primary = primary.into_iter().map(comparison);
    primary
        .chain(status.pairs.iter().map(pair))
        .chain(status.results.iter().map(arm))
        .chain(described.into_iter().map(comparison))
        .collect()
}

impl<'a> Named<'a> {
    pub(super) fn row(&self) -> &Row {
        &self.row
    }

    pub(super) fn place(&self) -> Place<'a> {
        let (kind, size, metric) = match &self.row {
            Row::Arm(arm) => (0, arm.size_bytes, None),
            Row::Comparison(comparison) => (1, comparison.size_bytes, Some(comparison.metric)),
            Row::Pair(pair) => (2, pair.size_bytes, None),
        };
        (kind, self.scenario, size, self.who, metric)
    }

    /// The row, with its names in `names`.
    pub(super) fn row_in(self, names: &mut NameTable<'a>) -> Row {
        let scenario = names.place(self.scenario);
        let [first, second] = self.who;
        match self.row {
            Row::Arm(row) => Row::Arm(ArmFigures {
                scenario,
                arm: names.place(first),
                ..row
            }),
            Row::Comparison(row) => Row::Comparison(ComparisonFigures {
                scenario,
                arm: names.place(first),
                ..row
            }),
            Row::Pair(row) => Row::Pair(PairFigures {
                scenario,
                initiator: names.place(first),
                target: names.place(second),
                ..row
            }),
        }
    }
}

fn arm(result: &ArmResult) -> Named<'_> {
    let engagement = |optimization| {
        let mut all = result.optimizations.iter();
        all.find(|one| one.optimization == optimization)
            .map(|one| one.engagement)
    };
    Named {
        scenario: &result.scenario,
        who: [&result.arm, ""],
        row: Row::Arm(ArmFigures {
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
            valid_rounds: result.valid_rounds,
            valid: result.validity == CaseValidity::Valid,
            engagements: OPTIMIZATIONS.map(engagement),
        }),
    }
}

fn comparison(result: &ComparisonResult) -> Named<'_> {
    Named {
        scenario: &result.scenario,
        who: [&result.arm, ""],
        row: Row::Comparison(ComparisonFigures {
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

fn pair(result: &PairResult) -> Named<'_> {
    Named {
        scenario: &result.scenario,
        who: [&result.initiator, &result.target],
        row: Row::Pair(PairFigures {
            scenario: 0,
            initiator: 0,
            target: 0,
            size_bytes: result.size_bytes,
            deviation_ppm: result.deviation_ppm,
        }),
    }
}
