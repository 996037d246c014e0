//! A control whose interval extends beyond the margin, and what would suffice for an answer. Performs no I/O.

use std::fmt;

use crds::v1alpha1::Metric;
use serde::Serialize;

use crate::format;
use crate::stats::RoundsToSettle;

/// Largest margin that is suggested, in percent. A larger one would call a doubling equivalent.
pub(super) const MAX_SUGGESTED_MARGIN: u32 = 100;

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
    #[serde(serialize_with = "super::serialize::serialize_rounds")]
    pub sufficient_rounds: Option<RoundsToSettle>,
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
        let rounds = match self.sufficient_rounds {
            Some(rounds @ RoundsToSettle::About(_)) => Some(rounds.to_string()),
            // A run cannot have more rounds than the maximum.
            Some(RoundsToSettle::MoreThan(_)) | None => None,
        };
        let margin = self
            .sufficient_margin_percent
            .map(|percent| format!("a margin of at least {percent} %"));
        match (rounds, margin) {
            (Some(rounds), Some(margin)) => write!(f, "; {rounds} or {margin} would suffice"),
            (Some(sufficient), None) | (None, Some(sufficient)) => write!(f, "; {sufficient} would suffice"),
            (None, None) => write!(
                f,
                "; no permitted number of rounds and no margin up to {MAX_SUGGESTED_MARGIN} % would suffice: {}",
                match self.sufficient_rounds {
                    Some(_) =>
                        "stop other work on this machine, give the workers whole CPUs, or measure on a quieter machine",
                    None => "the tool prints too few digits; let it run more iterations or print more digits",
                }
            ),
        }
    }
}
