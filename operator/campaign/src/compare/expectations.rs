//! Compares each expectation of the spec with the measured intervals. Performs no I/O.

use crds::units::Size;
use crds::v1alpha1::{Expectation, ExpectationOutcome, Metric};
use serde::Serialize;

use super::comparison::Comparison;
use super::reason::Withheld;
use crate::format;
use crate::plan::{Plan, Role};
use crate::stats::{self, ChangeOutcome, Margin, StatsError, combine_outcomes};

/// Outcome of one expectation.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectationAnswer {
    /// Index of the expectation in the spec.
    pub index: usize,
    /// Index of the scenario in the plan; `None` if the plan has no scenario with that name.
    pub scenario: Option<usize>,
    /// Index of the arm in the plan; `None` if the plan has no arm with that name.
    pub arm: Option<usize>,
    /// Metric that was expected to change.
    pub metric: Metric,
    /// Description of the expectation, as returned by [`describe`].
    pub text: String,
    /// Outcome over all sizes of the expectation.
    pub outcome: ExpectationOutcome,
    /// Whether the change exceeds the expected maximum at some size.
    pub above_maximum: bool,
    /// Outcome at each size.
    pub sizes: Vec<SizeOutcome>,
    /// Sizes that decide the outcome, each with its reason.
    pub reason: String,
}

/// Outcome of an expectation at one size.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SizeOutcome {
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Outcome at this size.
    pub outcome: ExpectationOutcome,
    /// Interval of the observed change in the expected direction, or why no interval exists.
    pub reason: String,
}

/// Evaluates every expectation of `plan` against the intervals of its comparisons.
pub(super) fn evaluate(plan: &Plan, all: &[Comparison]) -> Result<Vec<ExpectationAnswer>, StatsError> {
    let margin = Margin::from_percent(f64::from(plan.sampling.margin_percent))?;
    let evaluate_one = |(index, expectation): (usize, &Expectation)| {
        let expected = expected_change(expectation, margin)?;
        let outcomes: Vec<(u64, ChangeOutcome, String)> = matching_comparisons(plan, expectation, all)
            .map(|comparison| {
                let (outcome, reason) = evaluate_at_size(&expected, expectation, comparison);
                (comparison.size_bytes, outcome, reason)
            })
            .collect();
        let combined = combine_outcomes(outcomes.iter().map(|(_, outcome, _)| *outcome));
        let sizes: Vec<SizeOutcome> = outcomes
            .into_iter()
            .map(|(size_bytes, outcome, reason)| SizeOutcome {
                size_bytes,
                outcome: outcome.into(),
                reason,
            })
            .collect();
        let outcome = combined.unwrap_or(ChangeOutcome::Inconclusive);
        let (scenario, arm) = position(plan, expectation);
        Ok(ExpectationAnswer {
            index,
            scenario,
            arm,
            metric: expectation.metric,
            text: describe(expectation),
            above_maximum: outcome == ChangeOutcome::Met { above_maximum: true },
            reason: reason(outcome.into(), &sizes),
            outcome: outcome.into(),
            sizes,
        })
    };
    plan.expectations.iter().enumerate().map(evaluate_one).collect()
}

/// Returns the change that `expectation` specifies.
///
/// # Errors
/// Returns an error if a percentage is out of range. `validate` rejects such a spec.
pub(crate) fn expected_change(
    expectation: &Expectation,
    margin: Margin,
) -> Result<stats::ExpectedChange, StatsError> {
    let percent = |value: u32| f64::from(value);
    match (expectation.decrease_percent, expectation.increase_percent) {
        (Some(change), _) => {
            stats::ExpectedChange::decrease(percent(change.min), change.max.map(percent), margin)
        }
        (None, Some(change)) => {
            stats::ExpectedChange::increase(percent(change.min), change.max.map(percent), margin)
        }
        // `validate` rejects an expectation that specifies neither a decrease nor an increase. As a fallback, any
        // improvement meets such an expectation.
        (None, None) if expectation.metric.higher_is_better() => {
            stats::ExpectedChange::increase(0.0, None, margin)
        }
        (None, None) => stats::ExpectedChange::decrease(0.0, None, margin),
    }
}

/// Indexes of the scenario and the arm that `expectation` names; `None` for a name that the plan does not contain.
fn position(plan: &Plan, expectation: &Expectation) -> (Option<usize>, Option<usize>) {
    let mut scenarios = plan.scenarios.iter();
    let mut arms = plan.arms.iter();
    (
        scenarios.position(|scenario| scenario.assignment.name == expectation.scenario),
        arms.position(|arm| arm.name == expectation.variant),
    )
}

/// Comparisons to which `expectation` applies.
fn matching_comparisons<'a>(
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

fn evaluate_at_size(
    expected: &stats::ExpectedChange,
    expectation: &Expectation,
    comparison: &Comparison,
) -> (ChangeOutcome, String) {
    let interval = match (&comparison.reason, &comparison.interval) {
        // The interval is valid even if the verdict is withheld for one of these reasons.
        (
            None | Some(Withheld::NotPrimary | Withheld::Identical { .. } | Withheld::NotApplicable { .. }),
            Some(interval),
        ) => interval,
        (Some(reason), _) => return (ChangeOutcome::Inconclusive, reason.to_string()),
        (None, None) => return (ChangeOutcome::Inconclusive, "no interval".to_owned()),
    };
    let outcome = expected.evaluate(interval);
    let (low, high) = expected.observed_percent(interval);
    let direction = direction_name(expectation);
    let reason = match (comparison.role, comparison.primary) {
        (Role::Variant, true) => None,
        (Role::Variant, false) => Some("this is not the primary metric"),
        (Role::NotApplicable, _) => Some("no optimization of the arm applies at this size"),
        (Role::NegativeControl | Role::ControlArm, _) => {
            Some("the arm is identical to the baseline at this size")
        }
    };
    let level = reason.map_or_else(String::new, |reason| {
        format!("; {reason}, so the simultaneous confidence level does not cover it")
    });
    (outcome, format!("{low:.1} to {high:.1} % {direction}{level}"))
}

fn reason(outcome: ExpectationOutcome, sizes: &[SizeOutcome]) -> String {
    if sizes.is_empty() {
        return "the scenario has no size in the expectation's range".to_owned();
    }
    let deciding = sizes.iter().filter(|size| size.outcome == outcome);
    let reasons = deciding.map(|size| format!("{}: {}", format::size(size.size_bytes), size.reason));
    reasons.collect::<Vec<_>>().join("; ")
}

/// Direction in which the metric is expected to change: `lower` or `higher`.
fn direction_name(expectation: &Expectation) -> &'static str {
    let lower = match (expectation.decrease_percent, expectation.increase_percent) {
        (Some(_), _) => true,
        (None, Some(_)) => false,
        (None, None) => !expectation.metric.higher_is_better(),
    };
    if lower { "lower" } else { "higher" }
}

/// Describes an expectation in one line, such as `fi-inject: 10 to 20 % lower latency p50 in small below 256`.
pub fn describe(expectation: &Expectation) -> String {
    let direction = direction_name(expectation);
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
        (Some(from), None) => format!(" from {from}"),
        (None, Some(below)) => format!(" below {below}"),
        (Some(from), Some(below)) => format!(" from {from} to below {below}"),
    };
    let metric = metric_name(expectation.metric);
    format!(
        "{}: {amount}{direction} {metric} in {}{range}",
        expectation.variant, expectation.scenario
    )
}

/// Human-readable name of a metric.
pub fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::LatencyP50 => "latency p50",
        Metric::LatencyP95 => "latency p95",
        Metric::LatencyP99 => "latency p99",
        Metric::LatencyP999 => "latency p99.9",
        Metric::Throughput => "throughput",
        Metric::CompletionRate => "completion rate",
        Metric::CpuSecondsPerGib => "CPU seconds per GiB",
        Metric::MemoryPerConsumer => "memory per consumer",
        Metric::ReportedLatency => "reported latency",
        Metric::ReportedBandwidth => "reported bandwidth",
    }
}
