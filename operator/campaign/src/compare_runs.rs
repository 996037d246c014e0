//! Two finished runs against each other: what is comparable, and what changed. Pure, no I/O.
//!
//! Nothing was interleaved between them: the machines' mood changed too, and two runs cannot tell how much of a change is
//! that. So what an arm did against the baseline of its own run, round by round, is what is compared: what moved both
//! arms is no part of it. The baseline itself is described, without a verdict. The rounds of the two runs are independent
//! samples; the interval is that of the exact rank-sum test on the logarithms of the rounds' ratios
//! ([`rank_sum`](super::rank_sum)), at the level of all comparisons of a scenario together.

mod differences;

use std::collections::BTreeMap;

use crds::v1alpha1::{Engagement, Metric, Verdict};
use serde::Serialize;

pub use differences::{Difference, differences};

use crate::compare::Withheld;
use crate::evaluate::Evaluation;
use crate::plan::Plan;
use crate::stats::{Direction, Family, Interval, Margin, StatsError, judge, percent_change, rank_sum};
use crate::summarize::CellSummary;

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
    /// Change from the first to the second, in percent of the first: of the arm's ratio to the baseline of its run, or of the
    /// baseline itself.
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
pub fn compare_runs(first: &Finished<'_>, second: &Finished<'_>) -> Result<Vec<RunComparison>, StatsError> {
    let sampling = first.plan.sampling;
    let margin = Margin::from_percent(f64::from(sampling.margin_percent))?;
    let mut all = Vec::new();
    for (index, scenario) in first.plan.scenarios.iter().enumerate() {
        let shared = shared(first, second, index);
        let is_judged = |one: &&Shared<'_>| one.before.own.arm != first.plan.baseline;
        let Ok(judged @ 1..) = u32::try_from(shared.iter().filter(is_judged).count()) else {
            continue;
        };
        let family = Family::new(judged, f64::from(sampling.confidence_percent))?;
        for one in &shared {
            let withheld = withheld(first, one.before.own).or_else(|| withheld(second, one.after.own));
            let compared = one.compare(withheld, scenario.primary, &family, margin);
            all.push(RunComparison {
                scenario: scenario.assignment.name.clone(),
                ..compared
            });
        }
    }
    Ok(all)
}

/// An arm at one size, and the baseline beside it where it is not that itself.
#[derive(Clone, Copy)]
struct Beside<'a> {
    own: &'a CellSummary,
    baseline: Option<&'a CellSummary>,
}

/// An arm at one size in both runs.
struct Shared<'a> {
    arm: &'a str,
    before: Beside<'a>,
    after: Beside<'a>,
}

/// What both runs have of scenario `index` of the first.
fn shared<'a>(first: &Finished<'a>, second: &Finished<'a>, index: usize) -> Vec<Shared<'a>> {
    let mut found = Vec::new();
    let Some(scenario) = first.plan.scenarios.get(index) else {
        return found;
    };
    let name = &scenario.assignment.name;
    let mut others = second.plan.scenarios.iter();
    let Some(other) = others.position(|other| other.assignment.name == *name) else {
        return found;
    };
    for size in &scenario.sizes {
        for (arm, planned) in first.plan.arms.iter().enumerate() {
            let mut others = second.plan.arms.iter();
            let other_arm = others.position(|other| other.name == planned.name);
            let before = beside(first, (index, *size, arm));
            let after = other_arm.and_then(|arm| beside(second, (other, *size, arm)));
            let (Some(before), Some(after), None) = (before, after, planned.control) else {
                continue;
            };
            // The baseline's own values are no ratio: where only one of the runs has it as that, nothing compares.
            if before.baseline.is_some() == after.baseline.is_some() {
                let arm = planned.name.as_str();
                found.push(Shared { arm, before, after });
            }
        }
    }
    found
}

fn beside<'a>(run: &Finished<'a>, (scenario, size, arm): (usize, u64, usize)) -> Option<Beside<'a>> {
    let cell = |arm| run.evaluation.summary.cell(scenario, size, arm);
    let baseline = match run.plan.baseline {
        baseline if baseline == arm => None,
        baseline => Some(cell(baseline)?),
    };
    let own = cell(arm)?;
    Some(Beside { own, baseline })
}

impl Beside<'_> {
    /// Logarithms of the rounds: of the arm's ratio to the baseline, or of the baseline's values.
    fn logs(&self, metric: Metric) -> Vec<f64> {
        let own = rounds(self.own, metric);
        let logs: Vec<f64> = match self.baseline {
            None => own.iter().map(|(_, value)| value.ln()).collect(),
            Some(baseline) => {
                let baseline: BTreeMap<_, _> = rounds(baseline, metric).iter().copied().collect();
                let ratio = |(round, value): &(_, f64)| Some(value.ln() - baseline.get(round)?.ln());
                own.iter().filter_map(ratio).collect()
            }
        };
        logs.into_iter().filter(|log| log.is_finite()).collect()
    }
}

fn rounds(cell: &CellSummary, metric: Metric) -> &[(u32, f64)] {
    cell.metric(metric).map_or(&[], |spread| &spread.values)
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

impl Shared<'_> {
    fn compare(
        &self,
        withheld: Option<String>,
        metric: Metric,
        family: &Family,
        margin: Margin,
    ) -> RunComparison {
        let median = |cell: &CellSummary| cell.metric(metric).map(|spread| spread.median);
        let Self { arm, before, after } = self;
        let (first, second) = (before.logs(metric), after.logs(metric));
        let interval: Option<Interval> = rank_sum::interval(&first, &second, family.level());
        let judged = interval.map(|interval| judge(&interval, margin, Direction::from(metric)));
        let reason = match (withheld, judged) {
            (Some(reason), _) => Some(reason),
            (None, Some(found)) => before
                .baseline
                .is_none()
                .then(|| baseline_words(found).to_owned()),
            (None, None) if first.is_empty() || second.is_empty() => Some(self.unmeasured()),
            (None, None) => Some(format!(
                "too few rounds ({} and {}) for a verdict: at least {} in each are needed here",
                first.len(),
                second.len(),
                rank_sum::minimum_rounds(family.level()),
            )),
        };
        RunComparison {
            scenario: String::new(),
            size_bytes: before.own.size_bytes,
            arm: (*arm).to_owned(),
            metric,
            first: median(before.own),
            second: median(after.own),
            rounds: (first.len(), second.len()),
            change_percent: interval.map(|interval| percent_change(interval.estimate)),
            interval_percent: interval
                .map(|interval| (percent_change(interval.lower), percent_change(interval.upper))),
            verdict: judged.filter(|_| reason.is_none()),
            reason,
        }
    }

    /// Why a run has no round to compare.
    fn unmeasured(&self) -> String {
        let cells = [
            Some(self.before.own),
            Some(self.after.own),
            self.before.baseline,
            self.after.baseline,
        ];
        let reason = cells.into_iter().flatten().find_map(CellSummary::invalid_reason);
        let reason = reason.unwrap_or_else(|| "not measured in the same rounds as the baseline".to_owned());
        format!("a run has no valid round: {reason}")
    }
}

/// What is said of the baseline instead of a verdict.
fn baseline_words(found: Verdict) -> &'static str {
    match found {
        Verdict::Improved | Verdict::Regressed => {
            "moved: the machines changed between the runs, or all arms did; the others are judged against it"
        }
        Verdict::NoChange | Verdict::Inconclusive => "the others are judged against it",
    }
}
