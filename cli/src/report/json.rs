//! JSON report: the whole evaluation. Names accompany indexes, and field names contain units.

use std::collections::BTreeMap;

use campaign::compare::{Comparison, ExpectationAnswer, FactorEffect};
use campaign::summarize::{
    CellSummary, Environment, FabricEvidence, METRICS, SetupCostSummary, SweepSummary, UpperBound,
    VarianceSplit,
};
use crds::printable::printable_json;
use crds::quantity::Quantity;
use serde::Serialize;

use super::run::isolated::{self, Counts, TestKind};
use super::{Report, csv};

/// Version of the report format.
pub const FORMAT_VERSION: u32 = 1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    format_version: u32,
    run: &'a str,
    plan_hash: &'a str,
    complete: bool,
    blocks_done: u32,
    blocks_total: u32,
    blocks_skipped: u32,
    saved_percent: Option<f64>,
    verdict: &'a str,
    confidence_percent: u32,
    margin_percent: u32,
    rounds: u32,
    analyses: &'a [u32],
    seed: u64,
    /// Unit of each metric.
    units: BTreeMap<String, &'static str>,
    fabric: Option<&'a FabricEvidence>,
    /// Numbers of calls in each section, without control arms, and the fastest calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<Counts<'a>>,
    /// Numbers of memory footprints in each section, without control arms.
    #[serde(skip_serializing_if = "Option::is_none")]
    footprints: Option<Counts<'a>>,
    results: Vec<NamedItem<'a, Results<'a>>>,
    /// Results of the load sweeps. Their capacities and completed rates are in operations per second per thread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sweeps: Vec<NamedItem<'a, &'a SweepSummary>>,
    comparisons: Vec<NamedItem<'a, &'a Comparison>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    factor_effects: Vec<WithScenarioName<'a, FactorEffect>>,
    expectations: &'a [ExpectationAnswer],
    cold_starts: Vec<NamedItem<'a, &'a SetupCostSummary>>,
    /// Standard deviations of the natural logarithm of the baseline's primary metric.
    variances: Vec<NamedItem<'a, &'a VarianceSplit>>,
    /// Upper bounds on the throughput, with the arm whose devices determine them.
    upper_bounds: Vec<NamedItem<'a, &'a UpperBound>>,
    environment: &'a Environment,
    evidence_lines: &'a [String],
    warnings: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NamedItem<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario_name: Option<&'a str>,
    arm_name: &'a str,
    #[serde(flatten)]
    item: T,
}

/// Results of an arm at a size.
#[derive(Serialize)]
struct Results<'a> {
    /// Values of the measured quantities.
    values: BTreeMap<Quantity, f64>,
    #[serde(flatten)]
    cell: &'a CellSummary,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WithScenarioName<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario_name: Option<&'a str>,
    #[serde(flatten)]
    item: &'a T,
}

fn named<'a, T>(scenario_name: Option<&'a str>, arm_name: &'a str, item: T) -> NamedItem<'a, T> {
    NamedItem {
        scenario_name,
        arm_name,
        item,
    }
}

/// Renders the report as indented JSON with a final newline.
///
/// # Errors
/// Returns an error if a value cannot be serialized, which does not happen for the values of a report.
pub fn render(report: &Report<'_>) -> Result<String, serde_json::Error> {
    let plan = report.plan;
    let summary = &report.evaluation.summary;
    let comparisons = &report.evaluation.comparisons;
    let scenario = |index: usize| {
        let scenario = plan.scenarios.get(index);
        scenario.map(|scenario| scenario.assignment.name.as_str())
    };
    let arm = |index: usize| plan.arm_name(index);
    let document = Document {
        format_version: FORMAT_VERSION,
        run: &plan.run,
        plan_hash: report.plan.hash(),
        complete: summary.is_complete(),
        blocks_done: summary.blocks_done,
        blocks_total: summary.blocks_total,
        blocks_skipped: summary.blocks_skipped,
        saved_percent: summary.saved_percent,
        verdict: &comparisons.verdict,
        confidence_percent: plan.sampling.confidence_percent,
        margin_percent: plan.sampling.margin_percent,
        rounds: plan.rounds,
        analyses: &plan.analyses,
        seed: plan.seed,
        units: METRICS
            .iter()
            .map(|metric| (metric.to_string(), csv::unit(*metric)))
            .collect(),
        fabric: summary.fabric.as_ref(),
        calls: isolated::counts(report, TestKind::Calls),
        footprints: isolated::counts(report, TestKind::Footprints),
        results: summary
            .cells
            .iter()
            .map(|cell| {
                let values = cell.values().collect();
                named(scenario(cell.scenario), arm(cell.arm), Results { values, cell })
            })
            .collect(),
        sweeps: summary
            .sweeps
            .iter()
            .map(|sweep| named(None, arm(sweep.arm), sweep))
            .collect(),
        comparisons: comparisons
            .all
            .iter()
            .map(|one| named(scenario(one.scenario), arm(one.arm), one))
            .collect(),
        factor_effects: comparisons
            .factor_effects
            .iter()
            .map(|effect| WithScenarioName {
                scenario_name: scenario(effect.scenario),
                item: effect,
            })
            .collect(),
        expectations: &comparisons.expectations,
        cold_starts: summary
            .cold
            .iter()
            .map(|cold| named(None, arm(cold.arm), cold))
            .collect(),
        variances: summary
            .variances
            .iter()
            .map(|split| named(scenario(split.scenario), arm(plan.baseline), split))
            .collect(),
        upper_bounds: summary
            .upper_bounds
            .iter()
            .map(|bound| named(scenario(bound.scenario), arm(plan.baseline), bound))
            .collect(),
        environment: &summary.environment,
        evidence_lines: &summary.evidence_lines,
        warnings: &summary.warnings,
    };
    text(&document)
}

/// Formats `document` with indentation, escaped hidden characters and a final newline.
///
/// # Errors
/// Returns an error if serialization fails, which does not happen when writing to memory.
pub(crate) fn text(document: &impl Serialize) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string_pretty(document)?;
    Ok(format!("{}\n", printable_json(&text)))
}
