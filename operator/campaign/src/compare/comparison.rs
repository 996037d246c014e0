//! Comparison of one arm with the baseline.

use crds::v1alpha1::{EndReason, Metric, Verdict};
use serde::Serialize;

use super::reason::{Inconclusive, Withheld};
use super::serialize::{interval_percent, resolution_percent, serialize_rounds};
use crate::plan::Role;
use crate::stats::{Interval, Resolution, RoundsToSettle, percent_change};
use crate::stopping::EarlyEnd;

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

/// Effect measured by one pair of workers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PairEffect {
    /// Rank of the initiator.
    pub initiator: u32,
    /// Rank of the target.
    pub target: u32,
    /// Hodges-Lehmann estimate over the pair's rounds, as a percentage change from the baseline.
    pub percent: f64,
}
