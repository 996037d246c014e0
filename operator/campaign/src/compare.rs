//! Every comparison of a campaign: plan, records and their summary to effects, verdicts and expectations. Pure.
//!
//! Each variant and each control arm is compared with the baseline in every scenario, at every size, on every
//! metric. The scenario's primary metric carries the verdicts. None is given where the comparison would not answer
//! what its arms name: [`Withheld`] says why.
//!
//! A control arm is a second baseline, measured as far from the first as the variants of its separation are. Where
//! its whole interval lies beyond the margin, position or time changes the number, not the variant, so **all
//! comparisons of that separation in that scenario at that size** are withheld. An arm that is identical to the
//! baseline at a size is held to the same rule, for it is a control there.

mod effects;
mod expectations;
mod judge;
mod line;

use crds::v1alpha1::{Engagement, Metric, Optimization, Verdict};
use serde::{Serialize, Serializer};
use snafu::Snafu;

pub use effects::{PairEffect, case_index};
pub use expectations::{ExpectationAnswer, SizeOutcome, describe, metric_name};
pub use line::verdict_line;

use crate::collect::Reports;
use crate::plan::Plan;
use crate::stats::{Interval, RoundsToSettle, StatsError, percent_change};
use crate::summarize::Summary;

/// Everything that the comparisons of a campaign say.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparisons {
    /// By scenario, size, arm and metric, in the order of the plan; the primary metric first.
    pub all: Vec<Comparison>,
    /// What became of each expectation, in the order of the spec.
    pub expectations: Vec<ExpectationAnswer>,
    /// The verdicts in a line.
    pub verdict: String,
}

/// One arm against the baseline in one scenario at one size on one metric.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Index of the arm in the plan.
    pub arm: usize,
    /// What is compared.
    pub metric: Metric,
    /// Whether verdicts are read off this metric.
    pub primary: bool,
    /// What the comparison is there for.
    pub role: Role,
    /// Rounds in which both arms are valid.
    pub rounds: usize,
    /// The effect, where at least one round has both arms.
    pub effect: Option<Effect>,
    /// The effect with its interval, or nothing where there are too few rounds.
    #[serde(serialize_with = "interval_percent")]
    pub interval: Option<Interval>,
    /// Smallest change in percent that these rounds would have shown.
    pub minimum_detectable_percent: Option<f64>,
    /// The verdict, where there is one.
    pub verdict: Option<Verdict>,
    /// Why there is no verdict, or what qualifies it.
    pub reason: Option<Withheld>,
    /// Rounds that would settle an `Inconclusive`, in words.
    #[serde(serialize_with = "settle_text")]
    pub rounds_to_settle: Option<RoundsToSettle>,
    /// The effect of each pair of workers, the median over rounds: description, for pairs are no repeats.
    pub pairs: Vec<PairEffect>,
}

/// An estimated effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// Natural logarithm of arm over baseline.
    pub log_ratio: f64,
    /// The same as a change in percent of the baseline.
    pub percent: f64,
}

impl Effect {
    /// From the natural logarithm of arm over baseline.
    pub fn new(log_ratio: f64) -> Self {
        Self {
            log_ratio,
            percent: percent_change(log_ratio),
        }
    }
}

/// What a comparison is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// To say what a variant changes.
    Variant,
    /// A variant that does here what the baseline does: the effect is noise.
    NegativeControl,
    /// A second baseline: the effect is noise.
    ControlArm,
}

/// Why a comparison has no verdict, or what qualifies it.
#[derive(Clone, Debug, PartialEq, Snafu, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Withheld {
    /// Verdicts are read off another metric.
    #[snafu(display("described only: verdicts are read off the primary metric"))]
    NotPrimary,
    /// The arm is a control arm.
    #[snafu(display("control arm: a second baseline, the interval is the noise floor"))]
    Control,
    /// The arm is identical to the baseline here.
    #[snafu(display("negative control: {message}"))]
    Identical {
        /// Why it is.
        message: String,
    },
    /// The arm has no case yet.
    #[snafu(display("{who} is not measured yet"))]
    NotYet {
        /// Name of the arm.
        who: String,
    },
    /// The arm has no round to trust.
    #[snafu(display("{who} has no valid round: {message}"))]
    NoValidRound {
        /// Name of the arm.
        who: String,
        /// Why not.
        message: String,
    },
    /// No round has both arms valid.
    #[snafu(display("no round has both arms valid"))]
    NoCommonRound,
    /// Too few rounds, or an effect that is no number.
    #[snafu(display("{message}"))]
    NoInterval {
        /// What is missing.
        message: String,
    },
    /// Bytes of some case did not use the fabric that was asked for.
    #[snafu(display("fabric contradicted: {message}"))]
    Contradicted {
        /// What contradicts it.
        message: String,
    },
    /// An optimization that should have taken part did not.
    #[snafu(display("NotEngaged: {optimization:?}: {message}"))]
    NotEngaged {
        /// Which.
        optimization: Optimization,
        /// Why not.
        message: String,
    },
    /// A control of the same separation shows a change where there can be none.
    #[snafu(display("invalid: {control} changed by {low:+.1} to {high:+.1} %, which only noise can do"))]
    ControlViolated {
        /// Which control.
        control: String,
        /// Lower end of its interval, percent.
        low: f64,
        /// Upper end of its interval, percent.
        high: f64,
    },
    /// The legs of arm and baseline ran on other devices.
    #[snafu(display("void: the legs ran on different nodes or devices ({message})"))]
    OtherDevices {
        /// What differs.
        message: String,
    },
}

impl Comparison {
    /// The interval in percent of the baseline: lower and upper end.
    pub fn interval_percent(&self) -> Option<(f64, f64)> {
        let interval = self.interval.as_ref()?;
        Some((percent_change(interval.lower), percent_change(interval.upper)))
    }

    /// Whether the numbers behind it cannot be trusted.
    pub fn untrustworthy(&self) -> bool {
        matches!(
            self.reason,
            Some(
                Withheld::NotYet { .. }
                    | Withheld::NoValidRound { .. }
                    | Withheld::NoCommonRound
                    | Withheld::Contradicted { .. }
                    | Withheld::ControlViolated { .. }
                    | Withheld::OtherDevices { .. }
            )
        )
    }
}

impl Comparisons {
    /// The comparison of `arm` in `scenario` at `size_bytes` on `metric`; indexes as in the plan.
    pub fn of(&self, scenario: usize, size_bytes: u64, arm: usize, metric: Metric) -> Option<&Comparison> {
        self.all.iter().find(|one| {
            (one.scenario, one.size_bytes, one.arm, one.metric) == (scenario, size_bytes, arm, metric)
        })
    }

    /// The comparisons on the primary metrics.
    pub fn primary(&self) -> impl Iterator<Item = &Comparison> {
        self.all.iter().filter(|comparison| comparison.primary)
    }
}

/// Compares every arm of `plan` with the baseline.
///
/// # Errors
/// When the plan's confidence, margin, or a percentage that is expected, is none; `validate` refuses such a spec.
pub fn compare(plan: &Plan, reports: &Reports, summary: &Summary) -> Result<Comparisons, StatsError> {
    let mut all = effects::measure(plan, reports, summary)?;
    judge::judge(plan, reports, summary, &mut all)?;
    let expectations = expectations::judge(plan, &all)?;
    Ok(Comparisons {
        verdict: verdict_line(plan, summary, &all),
        expectations,
        all,
    })
}

/// Whether every optimization the arm asks for could not apply here, by what was seen.
pub(super) fn nothing_applied(summary: &Summary, comparison: &Comparison) -> Option<String> {
    let cell = summary.cell(comparison.scenario, comparison.size_bytes, comparison.arm)?;
    let all = cell
        .evidence
        .iter()
        .all(|evidence| evidence.engagement == Engagement::NotApplicable);
    let first = cell.evidence.first()?;
    all.then(|| first.reason.clone())
}

/// Whether two arms differ in their tuning at most.
pub(super) fn same_process(plan: &Plan, arm: usize) -> bool {
    let of = |index: usize| plan.arms.get(index).map(|arm| (&arm.image, &arm.process));
    of(arm) == of(plan.baseline)
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

fn settle_text<S: Serializer>(rounds: &Option<RoundsToSettle>, serializer: S) -> Result<S::Ok, S::Error> {
    rounds.map(|rounds| rounds.to_string()).serialize(serializer)
}
