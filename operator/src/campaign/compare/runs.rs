//! Two finished runs against each other: what is comparable, and what changed. Pure, no I/O.
//!
//! Their rounds are independent samples: nothing was interleaved, so whatever changed between the two runs is in the
//! difference, and no seed takes it out. The interval is that of the exact rank-sum test on the logarithms of the
//! rounds' values ([`rank_sum`](super::rank_sum)), at the level of all comparisons of a scenario together.

mod differences;

use crds::v1alpha1::{Engagement, Metric, Verdict};
use serde::Serialize;

pub use differences::{Difference, differences};

use super::campaign::Withheld;
use super::{CompareError, Direction, Family, Interval, Margin, judge, percent_change, rank_sum};
use crate::campaign::evaluate::Evaluation;
use crate::campaign::plan::Plan;
use crate::campaign::summarize::CellSummary;

/// A finished run.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// Its plan.
    pub plan: &'a Plan,
    /// What its records say.
    pub evaluation: &'a Evaluation,
}

/// One arm at one size in both runs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunComparison {
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Name of the arm.
    pub arm: String,
    /// The scenario's primary metric.
    pub metric: Metric,
    /// Median of the rounds of the first run.
    pub first: Option<f64>,
    /// Median of the rounds of the second run.
    pub second: Option<f64>,
    /// Rounds of both.
    pub rounds: (usize, usize),
    /// Change from the first to the second, in percent of the first.
    pub change_percent: Option<f64>,
    /// Its interval, in percent of the first.
    pub interval_percent: Option<(f64, f64)>,
    /// The verdict, where there is an interval.
    pub verdict: Option<Verdict>,
    /// Why there is no verdict.
    pub reason: Option<String>,
}

/// Compares every arm that both runs have, at every size that both have, on the primary metric of the first.
///
/// # Errors
/// When the confidence or margin of the first run's plan is none, which `validate` refuses.
pub fn compare_runs(first: &Finished<'_>, second: &Finished<'_>) -> Result<Vec<RunComparison>, CompareError> {
    let sampling = first.plan.sampling;
    let margin = Margin::from_percent(f64::from(sampling.margin_percent))?;
    let mut all = Vec::new();
    for (index, scenario) in first.plan.scenarios.iter().enumerate() {
        let name = &scenario.assignment.name;
        let other = second
            .plan
            .scenarios
            .iter()
            .position(|other| other.assignment.name == *name);
        let Some(other) = other else { continue };
        let mut pairs = Vec::new();
        for size in &scenario.sizes {
            for (arm, planned) in first.plan.arms.iter().enumerate() {
                let other_arm = second
                    .plan
                    .arms
                    .iter()
                    .position(|other| other.name == planned.name);
                let before = first.evaluation.summary.cell(index, *size, arm);
                let after = other_arm.and_then(|arm| second.evaluation.summary.cell(other, *size, arm));
                let (Some(before), Some(after), None) = (before, after, planned.control) else {
                    continue;
                };
                let withheld = withheld(first, before).or_else(|| withheld(second, after));
                pairs.push((planned.name.as_str(), before, after, withheld));
            }
        }
        let Ok(comparisons) = u32::try_from(pairs.len()) else {
            continue;
        };
        if comparisons == 0 {
            continue;
        }
        let family = Family::new(comparisons, f64::from(sampling.confidence_percent))?;
        for (arm, before, after, withheld) in pairs {
            let mut one = compare_cells((before, after), withheld, scenario.primary, &family, margin);
            (one.scenario, one.arm) = (name.clone(), arm.to_owned());
            all.push(one);
        }
    }
    Ok(all)
}

/// Why the numbers of `cell` answer nothing about its arm within its own run.
fn withheld(run: &Finished<'_>, cell: &CellSummary) -> Option<String> {
    if let Some(proof) = cell.contradicted() {
        return Some(format!("fabric contradicted: {}", proof.reason));
    }
    // Position or time changed the baseline too where a control of any separation shows it.
    let is_own = |arm: usize| arm == cell.arm || cell.arm == run.plan.baseline;
    let mut comparisons = run.evaluation.comparisons.primary();
    let violated = comparisons.find_map(|one| match &one.reason {
        Some(reason @ Withheld::ControlViolated { .. })
            if (one.scenario, one.size_bytes) == (cell.scenario, cell.size_bytes) && is_own(one.arm) =>
        {
            Some(format!("{}: {reason}", run.plan.run))
        }
        _ => None,
    });
    let mut evidence = cell.evidence.iter();
    let missing = evidence.find(|one| one.engagement == Engagement::NotEngaged);
    let missing = missing.map(|one| Withheld::NotEngaged {
        optimization: one.optimization,
        message: one.reason.clone(),
    });
    violated.or(missing.map(|missing| missing.to_string()))
}

fn compare_cells(
    (before, after): (&CellSummary, &CellSummary),
    withheld: Option<String>,
    metric: Metric,
    family: &Family,
    margin: Margin,
) -> RunComparison {
    let logs = |cell: &CellSummary| -> Vec<f64> {
        let rounds = cell.metric(metric).map_or(&[][..], |spread| &spread.values);
        rounds
            .iter()
            .map(|(_, value)| value.ln())
            .filter(|log| log.is_finite())
            .collect()
    };
    let median = |cell: &CellSummary| cell.metric(metric).map(|spread| spread.median);
    let (first, second) = (logs(before), logs(after));
    let interval: Option<Interval> = rank_sum::interval(&first, &second, family.level());
    let reason = match (withheld, &interval) {
        (Some(reason), _) => Some(reason),
        (None, Some(_)) => None,
        (None, None) if first.is_empty() || second.is_empty() => {
            let reason = before.invalid_reason().or_else(|| after.invalid_reason());
            Some(format!(
                "a run has no valid round: {}",
                reason.unwrap_or_else(|| "not measured".to_owned())
            ))
        }
        (None, None) => Some(format!(
            "too few rounds ({} and {}) for a verdict: at least {} in each are needed here",
            first.len(),
            second.len(),
            rank_sum::minimum_rounds(family.level()),
        )),
    };
    RunComparison {
        scenario: String::new(),
        size_bytes: before.size_bytes,
        arm: String::new(),
        metric,
        first: median(before),
        second: median(after),
        rounds: (first.len(), second.len()),
        change_percent: interval
            .map(|interval| percent_change(interval.estimate))
            .or_else(|| Some((median(after)? / median(before)? - 1.0) * 100.0)),
        interval_percent: interval
            .map(|interval| (percent_change(interval.lower), percent_change(interval.upper))),
        verdict: interval
            .filter(|_| reason.is_none())
            .map(|interval| judge(&interval, margin, Direction::from(metric))),
        reason,
    }
}
