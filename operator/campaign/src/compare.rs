//! Computes a run's comparisons: effects, verdicts and outcomes of expectations, from the plan, the records and their
//! summary. Performs no I/O.
//!
//! Each variant and each control arm is compared with the baseline in every scenario, at every size, on every metric.
//! Verdicts are given only for the scenario's primary metric. A verdict is withheld if the comparison cannot show
//! whether the variant changes the metric; [`Withheld`] gives the reason.
//!
//! A control arm is a second baseline, measured with the same separation from the first baseline as the variants that
//! it controls. A variant that is identical to the baseline at a size acts as a control at that size. All controls of a
//! run form a separate family: if there is no real difference, the probability that any of them shows a change is at
//! most `1 - confidence`. If a control shows a change, that is, if its whole interval at that level lies beyond the
//! margin, then position or time alone may change the metric, and the verdicts of **all comparisons in that scenario at
//! that size** are withheld, because they share the baseline.

mod case_index;
mod effects;
mod expectations;
mod factors;
mod noise;
mod noise_above_margin;
mod reason;
mod resolution;
mod verdict_line;
mod withhold;

use crds::v1alpha1::{EndReason, Metric, Verdict};
use serde::{Serialize, Serializer};

pub use effects::PairEffect;
pub(crate) use expectations::expected_change;
pub use expectations::{ExpectationAnswer, SizeOutcome, describe, metric_name};
pub use factors::{ConditionalChange, FactorEffect};
pub use noise_above_margin::NoiseAboveMargin;
pub use reason::{Inconclusive, Withheld};
pub use verdict_line::verdict_line;
pub(crate) use withhold::contradiction;

use crate::collect::Reports;
use crate::plan::{Plan, Role};
use crate::stats::{Interval, Resolution, RoundsToSettle, StatsError, percent_change};
use crate::stopping::{EarlyEnd, Stopping};
use crate::summarize::Summary;

/// All comparisons of a run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparisons {
    /// The comparisons, by scenario, size and arm in plan order, and by metric, with the primary metric first.
    pub all: Vec<Comparison>,
    /// Factor effects, by scenario and size in plan order. Empty if there are no factors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factor_effects: Vec<FactorEffect>,
    /// Controls whose interval extends beyond the margin, in plan order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<NoiseAboveMargin>,
    /// Outcome of each expectation, in spec order.
    pub expectations: Vec<ExpectationAnswer>,
    /// Summary of the verdicts in one line.
    pub verdict: String,
}

/// Comparison of one arm with the baseline in one scenario, at one size, on one metric.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Index of the arm in the plan.
    pub arm: usize,
    /// Metric that is compared.
    pub metric: Metric,
    /// Whether this is the scenario's primary metric, the only one for which verdicts are given.
    pub primary: bool,
    /// Planned purpose of the comparison.
    pub role: Role,
    /// Number of rounds in which both arms are valid.
    pub rounds: usize,
    /// Early end of the comparison, at an analysis before the last one; `None` if it did not end early.
    pub ended: Option<EarlyEnd>,
    /// Estimated effect; `None` if there is no round in which both arms are valid.
    pub effect: Option<Effect>,
    /// Effect with its interval, which includes the resolution of printed values; `None` if there are too few rounds.
    #[serde(serialize_with = "interval_percent")]
    pub interval: Option<Interval>,
    /// Effect of the values as printed with its interval, without their resolution; equal to `interval` for values that
    /// the runner measured.
    #[serde(skip)]
    pub printed_interval: Option<Interval>,
    /// Bounds of the effect that the printed values would leave open without noise; `None` for values that the runner
    /// measured.
    #[serde(
        serialize_with = "resolution_percent",
        skip_serializing_if = "Option::is_none"
    )]
    pub resolution: Option<Resolution>,
    /// Whether an `Inconclusive` verdict is due to the resolution, so that more rounds do not settle it.
    #[serde(skip)]
    pub is_resolution_open: bool,
    /// For a control on the primary metric, the effect with its interval at the level of the run's family of controls.
    /// `None` for all other comparisons, and if there are too few rounds.
    #[serde(serialize_with = "interval_percent")]
    pub control_interval: Option<Interval>,
    /// Minimum detectable effect, in percent: the smallest change that the comparison detects with a power of 80
    /// percent, given the number and spread of its rounds. `None` if there is no interval.
    pub minimum_detectable_percent: Option<f64>,
    /// Verdict; `None` if it is withheld.
    pub verdict: Option<Verdict>,
    /// Reason for withholding the verdict, or for an `Inconclusive` verdict without an interval.
    pub reason: Option<Withheld>,
    /// Cause of an `Inconclusive` verdict, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inconclusive: Option<Inconclusive>,
    /// Number of rounds that would settle an `Inconclusive` verdict, serialized as a string.
    #[serde(serialize_with = "serialize_rounds")]
    pub rounds_to_settle: Option<RoundsToSettle>,
    /// Number of rounds at which the interval would lie inside the margin if there is no effect, which is true for a
    /// control. `None` if it already does, if there is no interval, and if no number of rounds suffices.
    #[serde(skip)]
    pub rounds_to_equivalence: Option<RoundsToSettle>,
    /// Effect in each round, as a percentage change from the baseline; empty unless the metric is the primary one. Not
    /// serialized, because it can be derived from the arm values.
    #[serde(skip)]
    pub round_percents: Vec<f64>,
    /// Effect measured by each pair of workers over all rounds. These effects are descriptive only, because pairs are
    /// not independent repetitions.
    pub pairs: Vec<PairEffect>,
}

/// An estimated effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// Natural logarithm of the ratio of arm to baseline.
    pub log_ratio: f64,
    /// Effect as a percentage change from the baseline.
    pub percent: f64,
}

impl Effect {
    /// Creates an effect from the natural logarithm of the ratio of arm to baseline.
    pub fn new(log_ratio: f64) -> Self {
        Self {
            log_ratio,
            percent: percent_change(log_ratio),
        }
    }
}

impl Comparison {
    /// Lower and upper end of the interval, as percentage changes from the baseline.
    pub fn interval_percent(&self) -> Option<(f64, f64)> {
        self.interval.as_ref().map(Interval::percent)
    }

    /// Explains a withheld or `Inconclusive` verdict.
    pub fn explanation(&self) -> Option<String> {
        let cause = self.inconclusive.as_ref().map(ToString::to_string);
        cause.or_else(|| self.reason.as_ref().map(ToString::to_string))
    }

    /// Whether the comparison ended early because later rounds were unlikely to decide it.
    pub fn is_futile(&self) -> bool {
        self.ended.is_some_and(|ended| ended.reason == EndReason::Futile)
    }

    /// Whether the measurements behind this comparison are missing or cannot be trusted.
    pub fn is_untrusted(&self) -> bool {
        matches!(
            self.reason,
            Some(
                Withheld::NotMeasured { .. }
                    | Withheld::NoValidRound { .. }
                    | Withheld::NoCommonRound
                    | Withheld::Contradicted { .. }
                    | Withheld::DifferentDevices { .. }
            )
        )
    }

    /// Whether the verdict is withheld because a control shows a change or other traffic used the interfaces, so that
    /// something other than the arms may differ.
    pub fn is_suspect(&self) -> bool {
        matches!(
            self.reason,
            Some(Withheld::ControlViolated { .. } | Withheld::InterfaceShared { .. })
        )
    }
}

impl Comparisons {
    /// Finds the comparison of `arm` in `scenario` at `size_bytes` on `metric`. `scenario` and `arm` are indexes into
    /// the plan.
    pub fn find(&self, scenario: usize, size_bytes: u64, arm: usize, metric: Metric) -> Option<&Comparison> {
        self.all.iter().find(|comparison| {
            (
                comparison.scenario,
                comparison.size_bytes,
                comparison.arm,
                comparison.metric,
            ) == (scenario, size_bytes, arm, metric)
        })
    }

    /// Comparisons on the primary metric of their scenario.
    pub fn primary(&self) -> impl Iterator<Item = &Comparison> {
        self.all.iter().filter(|comparison| comparison.primary)
    }
}

/// Compares every arm of `plan` with the baseline, using the rounds that the analyses in `stopping` include.
///
/// # Errors
/// Returns an error if the confidence, the margin or an expected percentage of the plan is out of range. `validate`
/// rejects such a spec.
pub fn compare(
    plan: &Plan,
    reports: &Reports,
    summary: &Summary,
    stopping: &Stopping,
) -> Result<Comparisons, StatsError> {
    let index = case_index::case_index(plan, reports, summary);
    let mut all = effects::estimate(plan, &index, stopping)?;
    let noise = noise::find(plan, &all)?;
    withhold::withhold_verdicts(plan, reports, summary, &mut all)?;
    resolution::explain(plan, &mut all);
    noise::explain(plan, &noise, &mut all);
    let expectations = expectations::evaluate(plan, &all)?;
    Ok(Comparisons {
        factor_effects: factors::estimate(plan, &index, stopping, &all)?,
        verdict: verdict_line(plan, summary, &all, &noise),
        noise,
        expectations,
        all,
    })
}

fn interval_percent<S: Serializer>(interval: &Option<Interval>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Percent {
        estimate_percent: f64,
        lower_percent: f64,
        upper_percent: f64,
        level: f64,
    }
    let percent = interval.map(|interval| Percent {
        estimate_percent: percent_change(interval.estimate),
        lower_percent: percent_change(interval.lower),
        upper_percent: percent_change(interval.upper),
        level: interval.level,
    });
    percent.serialize(serializer)
}

fn resolution_percent<S: Serializer>(
    resolution: &Option<Resolution>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Percent {
        lower_percent: f64,
        upper_percent: f64,
    }
    let percent = resolution.map(|resolution| Percent {
        lower_percent: percent_change(resolution.lower),
        upper_percent: percent_change(resolution.upper),
    });
    percent.serialize(serializer)
}

fn serialize_rounds<S: Serializer>(
    rounds: &Option<RoundsToSettle>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    rounds.map(|rounds| rounds.to_string()).serialize(serializer)
}
