//! What became of each expectation of the spec.

use crds::units::Size;
use crds::v1alpha1::{Expectation, Metric};
use serde::Serialize;

use super::{Comparison, Role, Withheld};
use crate::figures;
use crate::plan::Plan;
use crate::stats::{self, Margin, Outcome, StatsError, over_sizes};

/// What became of one expectation.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectationAnswer {
    /// Its place in the spec.
    pub index: usize,
    /// Index of the scenario in the plan; nothing where the plan has none of that name.
    pub scenario: Option<usize>,
    /// Index of the arm in the plan; nothing where the plan has none of that name.
    pub arm: Option<usize>,
    /// What was expected to change.
    pub metric: Metric,
    /// The expectation in words.
    pub text: String,
    /// What became of it over all its sizes.
    pub outcome: crds::v1alpha1::ExpectationOutcome,
    /// Whether the change is above the stated maximum at some size.
    pub above_maximum: bool,
    /// What became of it at each size.
    pub sizes: Vec<SizeOutcome>,
    /// Why, with the sizes that decide it.
    pub reason: String,
}

/// What became of an expectation at one size.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SizeOutcome {
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// What became of it.
    pub outcome: crds::v1alpha1::ExpectationOutcome,
    /// The observed change in the expected direction with its interval, or why there is none.
    pub reason: String,
}

/// Judges every expectation of the plan by the intervals of its comparisons.
pub(super) fn judge(plan: &Plan, all: &[Comparison]) -> Result<Vec<ExpectationAnswer>, StatsError> {
    let margin = Margin::from_percent(f64::from(plan.sampling.margin_percent))?;
    let judge_one = |(index, expectation): (usize, &Expectation)| {
        let expected = threshold(expectation, margin)?;
        let outcomes: Vec<(u64, Outcome, String)> = of_expectation(plan, expectation, all)
            .map(|comparison| {
                let (outcome, reason) = at_size(&expected, expectation, comparison);
                (comparison.size_bytes, outcome, reason)
            })
            .collect();
        let over_all = over_sizes(outcomes.iter().map(|(_, outcome, _)| *outcome));
        let sizes: Vec<SizeOutcome> = outcomes
            .into_iter()
            .map(|(size_bytes, outcome, reason)| SizeOutcome {
                size_bytes,
                outcome: outcome.into(),
                reason,
            })
            .collect();
        let outcome = over_all.unwrap_or(Outcome::Inconclusive);
        Ok(ExpectationAnswer {
            index,
            scenario: position(plan, expectation).0,
            arm: position(plan, expectation).1,
            metric: expectation.metric,
            text: describe(expectation),
            above_maximum: outcome == Outcome::Met { above_maximum: true },
            reason: reason(outcome.into(), &sizes),
            outcome: outcome.into(),
            sizes,
        })
    };
    plan.expectations.iter().enumerate().map(judge_one).collect()
}

fn threshold(expectation: &Expectation, margin: Margin) -> Result<stats::Expectation, StatsError> {
    let percent = |value: u32| f64::from(value);
    match (expectation.decrease_percent, expectation.increase_percent) {
        (Some(change), _) => {
            stats::Expectation::decrease(percent(change.min), change.max.map(percent), margin)
        }
        (None, Some(change)) => {
            stats::Expectation::increase(percent(change.min), change.max.map(percent), margin)
        }
        // Only a spec that `validate` refuses has neither: then any change for the better is expected.
        (None, None) if expectation.metric.higher_is_better() => {
            stats::Expectation::increase(0.0, None, margin)
        }
        (None, None) => stats::Expectation::decrease(0.0, None, margin),
    }
}

/// Indexes of the scenario and the arm that `expectation` names.
fn position(plan: &Plan, expectation: &Expectation) -> (Option<usize>, Option<usize>) {
    let mut scenarios = plan.scenarios.iter();
    let mut arms = plan.arms.iter();
    (
        scenarios.position(|scenario| scenario.assignment.name == expectation.scenario),
        arms.position(|arm| arm.name == expectation.variant),
    )
}

fn of_expectation<'a>(
    plan: &Plan,
    expectation: &Expectation,
    all: &'a [Comparison],
) -> impl Iterator<Item = &'a Comparison> {
    let (scenario, arm) = position(plan, expectation);
    let (sizes, metric) = (expectation.sizes, expectation.metric);
    all.iter().filter(move |comparison| {
        (Some(comparison.scenario), Some(comparison.arm), comparison.metric) == (scenario, arm, metric)
            && sizes.is_none_or(|sizes| sizes.contains(Size(comparison.size_bytes)))
    })
}

fn at_size(
    expected: &stats::Expectation,
    expectation: &Expectation,
    comparison: &Comparison,
) -> (Outcome, String) {
    let judged = match (&comparison.reason, &comparison.interval) {
        // An interval that is only described, or of identical arms, is still one to hold against.
        (None | Some(Withheld::NotPrimary | Withheld::Identical { .. }), Some(interval)) => interval,
        (Some(reason), _) => return (Outcome::Inconclusive, reason.to_string()),
        (None, None) => return (Outcome::Inconclusive, "no interval".to_owned()),
    };
    let outcome = expected.judge(judged);
    let (low, high) = expected.observed_percent(judged);
    let direction = if lower_expected(expectation) {
        "lower"
    } else {
        "higher"
    };
    let identical = match comparison.role {
        Role::Variant => "",
        Role::NegativeControl | Role::ControlArm => "; the arm is identical to the baseline here",
    };
    let level = if comparison.primary {
        ""
    } else {
        "; not the primary metric: the interval does not count this expectation among its comparisons"
    };
    (
        outcome,
        format!("{low:.1} to {high:.1} % {direction}{identical}{level}"),
    )
}

fn reason(outcome: crds::v1alpha1::ExpectationOutcome, sizes: &[SizeOutcome]) -> String {
    if sizes.is_empty() {
        return "the scenario has no size in the range".to_owned();
    }
    let deciding = sizes.iter().filter(|size| size.outcome == outcome);
    let texts = deciding.map(|size| format!("{}: {}", figures::size(size.size_bytes), size.reason));
    texts.collect::<Vec<_>>().join("; ")
}

fn lower_expected(expectation: &Expectation) -> bool {
    match (expectation.decrease_percent, expectation.increase_percent) {
        (Some(_), _) => true,
        (None, Some(_)) => false,
        (None, None) => !expectation.metric.higher_is_better(),
    }
}

/// An expectation in words: `fi-inject: 10 to 20 % lower p50 in small below 256`.
pub fn describe(expectation: &Expectation) -> String {
    let direction = if lower_expected(expectation) {
        "lower"
    } else {
        "higher"
    };
    let change = expectation.decrease_percent.or(expectation.increase_percent);
    let amount = match change.map(|change| (change.min, change.max)) {
        None | Some((0, None)) => String::new(),
        Some((0, Some(max))) => format!("up to {max} % "),
        Some((min, None)) => format!("at least {min} % "),
        Some((min, Some(max))) => format!("{min} to {max} % "),
    };
    let sizes = expectation.sizes.unwrap_or_default();
    let range = match (sizes.at_least, sizes.below) {
        (None, None) => String::new(),
        (Some(least), None) => format!(" from {least}"),
        (None, Some(below)) => format!(" below {below}"),
        (Some(least), Some(below)) => format!(" from {least} to below {below}"),
    };
    let metric = metric_name(expectation.metric);
    format!(
        "{}: {amount}{direction} {metric} in {}{range}",
        expectation.variant, expectation.scenario
    )
}

/// Name of a metric for people.
pub fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::LatencyP50 => "latency p50",
        Metric::LatencyP95 => "latency p95",
        Metric::LatencyP99 => "latency p99",
        Metric::LatencyP999 => "latency p99.9",
        Metric::Throughput => "throughput",
        Metric::CompletionRate => "completion rate",
        Metric::CpuSecondsPerGib => "CPU seconds per GiB",
    }
}
