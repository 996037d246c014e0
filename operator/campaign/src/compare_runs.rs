//! Compares two finished runs: whether they are comparable, and what changed from the first to the second. Performs no
//! I/O.
//!
//! The rounds of two runs are not interleaved, so a change of the machines between the runs cannot be distinguished
//! from a change in the variants. The comparison therefore uses the ratio of an arm to the baseline of the same run,
//! computed round by round, so that effects common to both arms cancel out. No verdict is given for the baseline
//! itself. The rounds of the two runs are independent samples. The interval
//! ([`two_samples`](crate::stats::two_samples)) is computed from the logarithms of the rounds' ratios, at the
//! simultaneous level of all comparisons of a scenario. The interval holds even when the rounds of one run have a larger
//! spread than the rounds of the other run.
//!
//! If the baseline itself changed at a size, no other arm has a verdict at that size, because a change of the machines need
//! not affect all arms by the same factor, and then does not cancel out.

mod difference;
mod differences;
mod reported;
mod shift;

use std::collections::BTreeMap;

use crds::v1alpha1::{Engagement, InconclusiveReason, Metric, Verdict};
use serde::Serialize;

pub use difference::Difference;
pub use differences::differences;
pub use reported::unreported_properties;

use shift::{LogValues, Shift};

use crate::compare::{Withheld, contradiction};
use crate::evaluate::Evaluation;
use crate::plan::{Plan, Role};
use crate::stats::{
    BetterDirection, Family, Interval, Margin, StatsError, decide_verdict, percent_change, rank_sum,
};
use crate::summarize::CellSummary;

/// Plan and evaluation of a finished run.
#[derive(Clone, Copy, Debug)]
pub struct FinishedRun<'a> {
    /// Plan of the run.
    pub plan: &'a Plan,
    /// Evaluation of its records.
    pub evaluation: &'a Evaluation,
}

/// Comparison of one arm at one size between two runs.
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
    /// Median over the rounds of the first run.
    pub first: Option<f64>,
    /// Median over the rounds of the second run.
    pub second: Option<f64>,
    /// Number of rounds used from the first run and from the second run.
    pub rounds: (usize, usize),
    /// Relative change from the first run to the second, in percent. For the baseline, this is the change in its value.
    /// For any other arm, it is the change in its ratio to the baseline of the same run.
    pub change_percent: Option<f64>,
    /// Lower and upper end of the interval of the change, in percent.
    pub interval_percent: Option<(f64, f64)>,
    /// Verdict; `None` for the baseline, if there is no interval, or if the verdict is withheld.
    pub verdict: Option<Verdict>,
    /// Cause of an `Inconclusive` verdict, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inconclusive: Option<InconclusiveReason>,
    /// Why there is no verdict.
    pub reason: Option<String>,
    /// Whether the baseline changed at this size, so that this arm has no verdict; false for the baseline itself.
    pub baseline_changed: bool,
}

/// Compares every arm at every size that both runs have in common, on the scenario's primary metric in the first run.
///
/// # Errors
/// Returns an error if the confidence or the margin of the first run's plan is out of range. `validate` rejects such a
/// spec.
pub fn compare_runs(
    first: &FinishedRun<'_>,
    second: &FinishedRun<'_>,
) -> Result<Vec<RunComparison>, StatsError> {
    let sampling = first.plan.sampling;
    let margin = Margin::from_percent(f64::from(sampling.margin_percent))?;
    let mut all = Vec::new();
    for (index, scenario) in first.plan.scenarios.iter().enumerate() {
        let shared = shared_arms(first, second, index);
        let gets_verdict = |pair: &&ArmInBothRuns<'_>| {
            pair.first.own.arm != first.plan.baseline
                && role_reason(first, pair.first.own).is_none()
                && role_reason(second, pair.second.own).is_none()
        };
        if shared
            .iter()
            .all(|pair| pair.first.own.arm == first.plan.baseline)
        {
            continue;
        }
        let comparisons = u32::try_from(shared.iter().filter(gets_verdict).count()).unwrap_or(u32::MAX);
        // The number of rounds of an arm may depend on an analysis of its run, so the interval must hold for every pair
        // of analyses at which the two runs may have ended.
        let analyses = first.plan.analyses.len() * second.plan.analyses.len();
        let family =
            Family::new(comparisons.max(1), f64::from(sampling.confidence_percent))?.with_analyses(analyses);
        let changed_baselines: BTreeMap<u64, String> = shared
            .iter()
            .filter_map(|pair| pair.baseline_change(scenario.primary, &family, margin))
            .collect();
        for pair in &shared {
            let change = changed_baselines.get(&pair.first.own.size_bytes);
            let change = change.filter(|_| pair.first.baseline.is_some());
            let withheld = reason_to_withhold(first, pair.first.own)
                .or_else(|| reason_to_withhold(second, pair.second.own))
                .or_else(|| role_reason(first, pair.first.own))
                .or_else(|| role_reason(second, pair.second.own))
                .or_else(|| change.cloned());
            let compared = pair.compare(withheld, scenario.primary, &family, margin);
            all.push(RunComparison {
                scenario: scenario.assignment.name.clone(),
                baseline_changed: change.is_some(),
                ..compared
            });
        }
    }
    Ok(all)
}

/// Results of an arm and of the baseline at one size in one run; `baseline` is `None` if the arm is itself the
/// baseline.
#[derive(Clone, Copy)]
struct ArmResult<'a> {
    own: &'a CellSummary,
    baseline: Option<&'a CellSummary>,
}

/// Results of one arm at one size in both runs.
struct ArmInBothRuns<'a> {
    arm: &'a str,
    first: ArmResult<'a>,
    second: ArmResult<'a>,
}

/// Arms and sizes that both runs have in common in scenario `index` of the first run.
fn shared_arms<'a>(
    first: &FinishedRun<'a>,
    second: &FinishedRun<'a>,
    index: usize,
) -> Vec<ArmInBothRuns<'a>> {
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
            let in_first = arm_result(first, (index, *size, arm));
            let in_second = other_arm.and_then(|arm| arm_result(second, (other, *size, arm)));
            let (Some(in_first), Some(in_second), None) = (in_first, in_second, planned.control) else {
                continue;
            };
            // Baseline values are not ratios, so an arm that is the baseline in only one run is omitted.
            if in_first.baseline.is_some() == in_second.baseline.is_some() {
                found.push(ArmInBothRuns {
                    arm: planned.name.as_str(),
                    first: in_first,
                    second: in_second,
                });
            }
        }
    }
    found
}

fn arm_result<'a>(
    run: &FinishedRun<'a>,
    (scenario, size, arm): (usize, u64, usize),
) -> Option<ArmResult<'a>> {
    let cell = |arm| run.evaluation.summary.cell(scenario, size, arm);
    let baseline = match run.plan.baseline {
        baseline if baseline == arm => None,
        baseline => Some(cell(baseline)?),
    };
    let own = cell(arm)?;
    Some(ArmResult { own, baseline })
}

impl ArmResult<'_> {
    /// Logarithms of the arm's ratio to the baseline in each round, or of the arm's value if it is the baseline.
    fn log_values(&self, metric: Metric) -> LogValues {
        LogValues::new(self.own, self.baseline, metric)
    }
}

/// Why an arm that is identical to the baseline by plan, or whose optimizations do not apply, has no verdict.
fn role_reason(run: &FinishedRun<'_>, cell: &CellSummary) -> Option<String> {
    let role = run.plan.cell(cell.scenario, cell.size_bytes, cell.arm)?.role?;
    let reason = match role {
        Role::Variant => return None,
        Role::NotApplicable => "none of the arm's optimizations applies at this size",
        Role::NegativeControl | Role::ControlArm => {
            "the arm does the same as the baseline at this size, so a change would be noise"
        }
    };
    Some(format!("{}: {reason}", run.plan.run))
}

/// Why the results of `cell`, or the results of the baseline with which it is compared, are not usable within their own
/// run.
fn reason_to_withhold(run: &FinishedRun<'_>, cell: &CellSummary) -> Option<String> {
    let arm = run.plan.arms.get(cell.arm);
    let contradicted = arm.and_then(|arm| contradiction(&arm.name, cell));
    // For the baseline, every violated control counts, whatever its separation: it shows that position or time also
    // affected the baseline.
    let is_baseline = cell.arm == run.plan.baseline;
    let mut comparisons = run.evaluation.comparisons.primary().filter(|comparison| {
        (comparison.scenario, comparison.size_bytes) == (cell.scenario, cell.size_bytes)
            && (comparison.arm == cell.arm || is_baseline)
    });
    let withheld = comparisons.find_map(|comparison| {
        let has_no_effect = matches!(comparison.reason, Some(Withheld::NoEffect { .. }));
        let is_unusable =
            comparison.is_suspect() || ((comparison.is_untrusted() || has_no_effect) && !is_baseline);
        comparison.reason.as_ref().filter(|_| is_unusable)
    });
    let mut all_evidence = cell.evidence.iter();
    let not_engaged = all_evidence.find(|evidence| evidence.engagement == Engagement::NotEngaged);
    let not_engaged = not_engaged.map(|evidence| Withheld::NotEngaged {
        optimization: evidence.optimization,
        message: evidence.reason.clone(),
    });
    let reason = contradicted.or(withheld.cloned()).or(not_engaged)?;
    Some(format!("{}: {reason}", run.plan.run))
}

impl ArmInBothRuns<'_> {
    /// If the arm is the baseline and its interval is beyond the margin, returns the size and the reason that the other
    /// arms have no verdict at this size.
    fn baseline_change(&self, metric: Metric, family: &Family, margin: Margin) -> Option<(u64, String)> {
        if self.first.baseline.is_some() {
            return None;
        }
        let (first, second) = (self.first.log_values(metric), self.second.log_values(metric));
        let Shift { interval, .. } = Shift::new(&first, &second, family.level())?;
        let changed = matches!(
            decide_verdict(&interval, margin, BetterDirection::from(metric)),
            Verdict::Improved | Verdict::Regressed
        );
        let (low, high) = interval.percent();
        changed.then(|| {
            let reason = format!(
                "the baseline changed by {low:+.1} to {high:+.1} % between the runs, possibly because the machines \
                 differ, so ratios to the baseline are not comparable; measure both versions as variants of one run"
            );
            (self.first.own.size_bytes, reason)
        })
    }

    fn compare(
        &self,
        withheld: Option<String>,
        metric: Metric,
        family: &Family,
        margin: Margin,
    ) -> RunComparison {
        let median = |cell: &CellSummary| cell.metric(metric).map(|summary| summary.median);
        let (first, second) = (self.first.log_values(metric), self.second.log_values(metric));
        let direction = BetterDirection::from(metric);
        let shift = Shift::new(&first, &second, family.level());
        let interval = shift.as_ref().map(|shift| shift.interval);
        let verdict = interval.map(|interval| decide_verdict(&interval, margin, direction));
        let leaves_open = |shift: &Shift| {
            shift
                .resolution
                .leaves_open(Some(&shift.printed), margin, direction)
        };
        let is_resolution_open = shift.as_ref().is_some_and(leaves_open);
        let reason = match (withheld, verdict) {
            (Some(reason), _) => Some(reason),
            (None, Some(verdict)) => self
                .first
                .baseline
                .is_none()
                .then(|| baseline_reason(verdict).to_owned()),
            (None, None) if first.count() == 0 || second.count() == 0 => Some(self.no_rounds_reason(metric)),
            (None, None) => Some(format!(
                "too few rounds ({} and {}) for a verdict: each run needs at least {}",
                first.count(),
                second.count(),
                rank_sum::minimum_rounds(family.level()),
            )),
        };
        RunComparison {
            scenario: String::new(),
            size_bytes: self.first.own.size_bytes,
            arm: self.arm.to_owned(),
            metric,
            first: median(self.first.own),
            second: median(self.second.own),
            rounds: (first.count(), second.count()),
            change_percent: interval.map(|interval| percent_change(interval.estimate)),
            interval_percent: interval.as_ref().map(Interval::percent),
            verdict: verdict.filter(|_| reason.is_none()),
            inconclusive: (verdict == Some(Verdict::Inconclusive) && reason.is_none() && is_resolution_open)
                .then_some(InconclusiveReason::Resolution),
            reason,
            baseline_changed: false,
        }
    }

    /// Why one of the runs has no round to compare.
    fn no_rounds_reason(&self, metric: Metric) -> String {
        let cells = [
            Some(self.first.own),
            Some(self.second.own),
            self.first.baseline,
            self.second.baseline,
        ];
        let is_below = |cell: &CellSummary| cell.below_resolution.contains(&metric);
        if cells.into_iter().flatten().any(is_below) {
            return "the tool printed 0, which is below its resolution, so there is no ratio".to_owned();
        }
        let reason = cells.into_iter().flatten().find_map(CellSummary::invalid_reason);
        let reason = reason
            .unwrap_or_else(|| "the arm was not measured in the same rounds as the baseline".to_owned());
        format!("one of the runs has no valid round: {reason}")
    }
}

/// Why the baseline has no verdict, given the verdict that would follow from its interval.
fn baseline_reason(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Improved | Verdict::Regressed => {
            "baseline: it changed between the runs, because of the machines or a factor common to all arms"
        }
        Verdict::NoChange | Verdict::Inconclusive => "baseline: the other arms are compared relative to it",
    }
}
