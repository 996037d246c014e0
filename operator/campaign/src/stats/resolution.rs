//! The resolution of printed values: how far a comparison is known if there were no noise. Performs no I/O.
//!
//! Every statistic of a comparison never decreases if the effect of a round increases: the median over pairs, the Walsh
//! averages and the bounds of the interval. The effect of a round never decreases if the value of the arm increases or
//! that of the baseline decreases. The lower bound of an interval therefore follows from the least values of the arm and
//! the greatest of the baseline in every round, and the upper bound from the opposite ones.

use crds::v1alpha1::Verdict;

use super::error::StatsError;
use super::{
    BetterDirection, BoundedValue, Interval, Margin, Pair, decide_verdict, median_of, round_effect,
    signed_rank,
};

/// Values that one pair of workers measured for an arm and the baseline in the same block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedPair {
    /// The arm's value.
    pub arm: BoundedValue,
    /// The baseline's value.
    pub baseline: BoundedValue,
}

/// Effects of the rounds of a comparison, as natural logarithms of the ratio of arm to baseline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoundEffects {
    /// Effects of the values as measured or printed.
    pub printed: Vec<f64>,
    /// Bounds of the true effects, in the same order; `None` if the values are exact.
    bounds: Option<EffectBounds>,
}

/// Bounds of the true effects of the rounds.
#[derive(Clone, Debug, PartialEq)]
struct EffectBounds {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

/// Bounds of the effect that the printed values leave open even without noise, as natural logarithms of the ratio of arm
/// to baseline: the Hodges-Lehmann estimates of the lower and of the upper bounds of the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution {
    /// Lower bound.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
}

impl From<Vec<f64>> for RoundEffects {
    /// Effects of exact values.
    fn from(effects: Vec<f64>) -> Self {
        Self {
            printed: effects,
            bounds: None,
        }
    }
}

impl RoundEffects {
    /// The effects of `rounds`, each with the values of its pairs. Rounds without a pair are left out.
    ///
    /// # Errors
    /// Returns [`StatsError::NoRatio`] for the first value that is not finite or not above zero.
    pub fn from_rounds<'a>(
        rounds: impl Iterator<Item = &'a [BoundedPair]> + Clone,
    ) -> Result<Self, StatsError> {
        let effects = |select: fn(&BoundedPair) -> Pair| {
            let effect = |pairs: &[BoundedPair]| {
                let pairs: Vec<Pair> = pairs.iter().map(select).collect();
                round_effect(&pairs).transpose()
            };
            rounds.clone().filter_map(effect).collect::<Result<Vec<f64>, _>>()
        };
        let is_exact = |pair: &BoundedPair| pair.arm.is_exact() && pair.baseline.is_exact();
        let all_exact = rounds.clone().flatten().all(is_exact);
        let bounds = || {
            Ok(EffectBounds {
                lower: effects(|pair| Pair {
                    arm: pair.arm.least,
                    baseline: pair.baseline.most,
                })?,
                upper: effects(|pair| Pair {
                    arm: pair.arm.most,
                    baseline: pair.baseline.least,
                })?,
            })
        };
        Ok(Self {
            printed: effects(|pair| Pair {
                arm: pair.arm.value,
                baseline: pair.baseline.value,
            })?,
            bounds: if all_exact { None } else { Some(bounds()?) },
        })
    }

    /// The effects of a contrast: for each round, the median over its pairs of the sum of `weights` times the logarithms
    /// of the values. A pair has one value for each weight, all above zero.
    pub fn of_contrast<'a>(
        rounds: impl Iterator<Item = &'a [Vec<BoundedValue>]> + Clone,
        weights: &[f64],
    ) -> Self {
        let effects = |select: fn(&BoundedValue, bool) -> f64| {
            let contrast = |values: &Vec<BoundedValue>| {
                let terms = values.iter().zip(weights);
                terms
                    .map(|(value, weight)| weight * select(value, *weight > 0.0).ln())
                    .sum::<f64>()
            };
            let effect = |pairs: &[Vec<BoundedValue>]| {
                median_of(&mut pairs.iter().map(contrast).collect::<Vec<f64>>())
            };
            rounds.clone().filter_map(effect).collect::<Vec<f64>>()
        };
        let all_exact = rounds.clone().flatten().flatten().all(BoundedValue::is_exact);
        let least = |value: &BoundedValue, raises: bool| if raises { value.least } else { value.most };
        let most = |value: &BoundedValue, raises: bool| if raises { value.most } else { value.least };
        Self {
            printed: effects(|value, _| value.value),
            bounds: (!all_exact).then(|| EffectBounds {
                lower: effects(least),
                upper: effects(most),
            }),
        }
    }

    /// Number of rounds.
    pub fn count(&self) -> usize {
        self.printed.len()
    }

    /// Index of the first round whose effect or one of its bounds is not finite.
    pub(super) fn first_not_finite(&self) -> Option<usize> {
        let bounds = self
            .bounds
            .iter()
            .flat_map(|bounds| [&bounds.lower, &bounds.upper]);
        let position = |effects: &Vec<f64>| effects.iter().position(|effect| !effect.is_finite());
        std::iter::once(&self.printed)
            .chain(bounds)
            .filter_map(position)
            .min()
    }

    /// The interval at the two-sided `level`, which includes the resolution; `None` if there are too few rounds.
    pub fn interval(&self, level: f64) -> Option<Interval> {
        self.with_resolution(self.printed_interval(level)?, level)
    }

    /// The interval of the values as printed, without their resolution; `None` if there are too few rounds.
    pub fn printed_interval(&self, level: f64) -> Option<Interval> {
        signed_rank::interval(&self.printed, level)
    }

    /// Extends `printed`, the interval of the values as printed at the two-sided `level`, by the resolution.
    pub(super) fn with_resolution(&self, printed: Interval, level: f64) -> Option<Interval> {
        let Some(bounds) = &self.bounds else {
            return Some(printed);
        };
        Some(Interval {
            lower: signed_rank::interval(&bounds.lower, level)?.lower,
            upper: signed_rank::interval(&bounds.upper, level)?.upper,
            ..printed
        })
    }

    /// The resolution; `None` if the values are exact or there are no rounds.
    pub fn resolution(&self) -> Option<Resolution> {
        let bounds = self.bounds.as_ref()?;
        Some(Resolution {
            lower: signed_rank::estimate(&bounds.lower)?,
            upper: signed_rank::estimate(&bounds.upper)?,
        })
    }
}

impl Resolution {
    /// The resolution of exact values with this estimate.
    pub fn of_exact(estimate: f64) -> Self {
        Self {
            lower: estimate,
            upper: estimate,
        }
    }

    /// Half the distance between the bounds.
    pub fn half_width(&self) -> f64 {
        (self.upper - self.lower) / 2.0
    }

    /// Returns `interval`, which does not include the resolution, extended as the bounds extend `estimate`.
    pub fn widen(&self, interval: &Interval, estimate: f64) -> Interval {
        Interval {
            lower: interval.lower - (estimate - self.lower),
            upper: interval.upper + (self.upper - estimate),
            ..*interval
        }
    }

    /// Greater distance of a bound from `estimate`.
    pub(super) fn reach_from(&self, estimate: f64) -> f64 {
        (estimate - self.lower).max(self.upper - estimate)
    }

    /// Distance between the bounds and the nearest edge of the margin; `None` if the bounds lie on both sides of an
    /// edge, so that no number of rounds settles the comparison.
    pub(super) fn distance_from_edge(&self, margin: Margin) -> Option<f64> {
        let edge = margin.log_ratio();
        let distance = if self.lower >= edge {
            self.lower - edge
        } else if self.upper <= -edge {
            -edge - self.upper
        } else {
            edge - self.lower.abs().max(self.upper.abs())
        };
        (distance >= 0.0).then_some(distance)
    }

    /// Whether the resolution, rather than the noise, leaves the verdict open: without noise, there would be no other
    /// verdict, and either the resolution is wider than the margin, or the values as printed, whose interval is
    /// `printed`, would have one.
    pub fn leaves_open(
        &self,
        printed: Option<&Interval>,
        margin: Margin,
        direction: BetterDirection,
    ) -> bool {
        let is_open =
            |interval: &Interval| decide_verdict(interval, margin, direction) == Verdict::Inconclusive;
        let without_noise = Interval {
            estimate: f64::midpoint(self.lower, self.upper),
            lower: self.lower,
            upper: self.upper,
            level: 0.0,
        };
        is_open(&without_noise)
            && (self.half_width() > margin.log_ratio() || printed.is_some_and(|printed| !is_open(printed)))
    }
}

#[cfg(test)]
mod tests;
