//! Controls whose interval extends beyond the margin: the noise then forbids an answer at this margin. Performs no I/O.
//!
//! The effect of a control is zero. If its interval at the level of the scenario's family does not lie inside the margin,
//! then that of a variant that changes nothing would not either: on this machine, with this number of rounds, `NoChange`
//! cannot be expected. A verdict whose interval lies beyond the margin is not affected.

use std::fmt;

use crds::v1alpha1::{Metric, Verdict};
use serde::{Serialize, Serializer};

use super::{Comparison, Inconclusive};
use crate::format;
use crate::plan::{Plan, Role};
use crate::stats::{BetterDirection, Margin, RoundsToSettle, StatsError, decide_verdict, percent_change};

/// Largest margin that is suggested, in percent. A larger one would call a doubling equivalent.
const MAX_SUGGESTED_MARGIN: f64 = 100.0;

/// A control whose interval extends beyond the margin.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoiseAboveMargin {
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Index of the control in the plan's arms.
    pub arm: usize,
    /// The scenario's primary metric.
    pub metric: Metric,
    /// Whether the control is a control arm. Otherwise, it is a variant that is identical to the baseline at this size.
    pub is_control_arm: bool,
    /// Greatest distance of the interval from zero, in percent. Like the margin, it is symmetric on the log scale.
    pub reach_percent: f64,
    /// The run's margin, in percent.
    pub margin_percent: u32,
    /// Smallest whole margin, in percent, that contains the interval; `None` above 100 percent.
    pub sufficient_margin_percent: Option<u32>,
    /// Number of rounds at which the interval would lie inside the margin, serialized as a string. `None` if no number
    /// suffices, because the resolution of printed values is wider than the margin.
    #[serde(serialize_with = "serialize_rounds")]
    pub sufficient_rounds: Option<RoundsToSettle>,
}

fn serialize_rounds<S: Serializer>(
    rounds: &Option<RoundsToSettle>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    rounds.map(|rounds| rounds.to_string()).serialize(serializer)
}

impl fmt::Display for NoiseAboveMargin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let control = if self.is_control_arm {
            "the control arm"
        } else {
            "an arm that is identical to the baseline"
        };
        write!(
            f,
            "the noise is above the margin: {control} varies within \u{b1}{:.1} % at {}, so this machine cannot answer at a \
             margin of {} %",
            self.reach_percent,
            format::size(self.size_bytes),
            self.margin_percent
        )?;
        let rounds = self.sufficient_rounds.map(|rounds| rounds.to_string());
        let margin = self
            .sufficient_margin_percent
            .map(|percent| format!("a margin of at least {percent} %"));
        match (rounds, margin) {
            (Some(rounds), Some(margin)) => write!(f, "; {rounds} or {margin} would suffice"),
            (Some(sufficient), None) | (None, Some(sufficient)) => write!(f, "; {sufficient} would suffice"),
            (None, None) => Ok(()),
        }
    }
}

/// Finds the controls of `all` whose interval extends beyond the margin.
pub(super) fn find(plan: &Plan, all: &[Comparison]) -> Result<Vec<NoiseAboveMargin>, StatsError> {
    let margin_percent = plan.sampling.margin_percent;
    let margin = Margin::from_percent(f64::from(margin_percent))?;
    let controls = all.iter().filter(|one| one.primary && one.role.is_control());
    let above = controls.filter_map(|control| {
        let interval = control.interval.as_ref()?;
        let direction = BetterDirection::from(control.metric);
        if decide_verdict(interval, margin, direction) == Verdict::NoChange {
            return None;
        }
        let reach_percent = percent_change(interval.reach());
        let sufficient = reach_percent.ceil();
        Some(NoiseAboveMargin {
            scenario: control.scenario,
            size_bytes: control.size_bytes,
            arm: control.arm,
            metric: control.metric,
            is_control_arm: control.role == Role::ControlArm,
            reach_percent,
            margin_percent,
            sufficient_margin_percent: (sufficient <= MAX_SUGGESTED_MARGIN).then_some(sufficient as u32),
            sufficient_rounds: control.rounds_to_equivalence,
        })
    });
    Ok(above.collect())
}

/// Names the noise as the cause of every `Inconclusive` verdict that has an interval, no other cause, and a control at
/// the same size with the same separation from the baseline in `noise`.
pub(super) fn explain(plan: &Plan, noise: &[NoiseAboveMargin], all: &mut [Comparison]) {
    let separation = |arm: usize| plan.arms.get(arm).map(|arm| arm.separation);
    for comparison in all.iter_mut() {
        let is_open = comparison.verdict == Some(Verdict::Inconclusive)
            && comparison.interval.is_some()
            && comparison.inconclusive.is_none();
        if !is_open {
            continue;
        }
        let controls = noise.iter().filter(|control| {
            (control.scenario, control.size_bytes) == (comparison.scenario, comparison.size_bytes)
                && separation(control.arm) == separation(comparison.arm)
        });
        let widest = controls.max_by(|one, other| one.reach_percent.total_cmp(&other.reach_percent));
        comparison.inconclusive = widest.cloned().map(Inconclusive::Noise);
    }
}
