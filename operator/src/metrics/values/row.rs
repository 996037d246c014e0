//! Values of one arm, comparison or pair at one size, as integers.

use crds::quantity::Quantity;
use crds::v1alpha1::{
    ArmResult, BenchmarkRunStatus, CallCause, CallSection, CaseValidity, ComparisonResult, Engagement,
    Metric, Optimization, PairResult, Verdict, WithheldReason,
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
    /// Measured values in the units of their quantities.
    pub values: Box<[(Quantity, i64)]>,
    /// Section of the report that contains the calls or the memory footprint, and the cause; `None` for other workloads.
    pub section: Option<(CallSection, Option<CallCause>)>,
    pub valid_rounds: u32,
    pub valid: bool,
    /// Engagement of each optimization in [`OPTIMIZATIONS`].
    pub engagements: [Option<Engagement>; 3],
}

/// All optimizations.
pub(crate) const OPTIMIZATIONS: [Optimization; 3] = [
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

fn arm(result: &ArmResult) -> NamedRow<'_> {
    let engagement = |optimization| {
        let mut all = result.optimizations.iter();
        all.find(|one| one.optimization == optimization)
            .map(|one| one.engagement)
    };
    let call = result.call.map(|call| (call.section, call.cause));
    let footprint = result
        .footprint
        .map(|footprint| (footprint.section, footprint.cause));
    NamedRow {
        scenario: &result.scenario,
        parties: [&result.arm, ""],
        row: Row::Arm(ArmValues {
            scenario: 0,
            arm: 0,
            size_bytes: result.size_bytes,
            values: result.values.iter().collect(),
            section: call.or(footprint),
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
