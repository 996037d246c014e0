//! Futility: whether later analyses are unlikely to decide a comparison. Performs no I/O.

use std::f64::consts::PI;

use statrs::distribution::{ContinuousCDF, Normal};

use super::power::UnitReach;
use super::{Family, Interval};

/// Probability below which a decision is considered unlikely.
pub const FUTILITY_POWER: f64 = 0.1;

/// Number of effects to try, evenly spaced from one bound of the interval to the other.
const EFFECTS: u32 = 41;
/// Number of equally likely estimates to try for each effect.
const ESTIMATES: u32 = 100;

/// Decides whether comparisons of a family are futile.
///
/// A comparison is futile if, whichever effect inside its interval is the true one, the probability that a later
/// analysis decides the comparison is below [`FUTILITY_POWER`]. The rounds measured so far remain part of the later
/// intervals. If the effect is `e` and the first `n` of `n'` rounds gave the estimate `x`, then the estimate from all
/// `n'` rounds has approximately the mean `(n x + (n' - n) e) / n'` and the variance `scale^2 pi (n' - n) / (3 n'^2)`;
/// the half width of its interval is approximately `scale * k(n')`. The `power` module defines `scale` and `k`. The
/// probabilities of several later analyses are added, which overestimates the probability that any of them decides the
/// comparison.
pub(super) struct Futility {
    family: Family,
    /// Equally likely values of a standard normal variable.
    scores: Vec<f64>,
}

impl Futility {
    pub(super) fn new(family: Family) -> Self {
        let normal = Normal::standard();
        let score = |index| normal.inverse_cdf((f64::from(index) + 0.5) / f64::from(ESTIMATES));
        Self {
            family,
            scores: (0..ESTIMATES).map(score).collect(),
        }
    }

    /// Whether a comparison is futile, given its `interval` after `rounds` rounds. `later` contains the number of
    /// rounds at each later analysis, and `decides` returns whether an interval decides the comparison.
    pub(super) fn is_futile(
        &self,
        interval: &Interval,
        rounds: u32,
        later: impl Iterator<Item = u32>,
        decides: impl Fn(&Interval) -> bool,
    ) -> bool {
        let Some(unit) = self.half_width(rounds) else {
            return false;
        };
        let scale = interval.half_width() / unit;
        let later: Vec<LaterAnalysis> = later
            .filter_map(|total| {
                let unit = self.half_width(total)?;
                let added = f64::from(total.checked_sub(rounds)?);
                let total = f64::from(total);
                Some(LaterAnalysis {
                    weight: added / total,
                    deviation: scale * (PI * added / 3.0).sqrt() / total,
                    half_width: scale * unit,
                })
            })
            .collect();
        let mut effects = (0..EFFECTS).map(|index| {
            let part = f64::from(index) / f64::from(EFFECTS - 1);
            interval.lower + part * (interval.upper - interval.lower)
        });
        effects.all(|effect| self.probability(interval, effect, &later, &decides) < FUTILITY_POWER)
    }

    /// Upper bound on the probability that any of the `later` analyses decides the comparison if its effect is
    /// `effect`.
    fn probability(
        &self,
        interval: &Interval,
        effect: f64,
        later: &[LaterAnalysis],
        decides: &impl Fn(&Interval) -> bool,
    ) -> f64 {
        let decided = later.iter().map(|analysis| {
            let mean = interval.estimate + analysis.weight * (effect - interval.estimate);
            let decided = self.scores.iter().filter(|score| {
                let estimate = mean + **score * analysis.deviation;
                decides(&Interval {
                    estimate,
                    lower: estimate - analysis.half_width,
                    upper: estimate + analysis.half_width,
                    level: self.family.level(),
                })
            });
            decided.count()
        });
        decided.sum::<usize>() as f64 / f64::from(ESTIMATES)
    }

    /// Half width of the interval computed from normal scores; `None` if there are too few rounds for an interval.
    fn half_width(&self, rounds: u32) -> Option<f64> {
        Some(UnitReach::new(rounds, &self.family)?.half_width)
    }
}

/// A later analysis, on the log scale of effects.
struct LaterAnalysis {
    /// Share of its rounds that have not been measured yet.
    weight: f64,
    /// Standard deviation of its estimate, given the rounds measured so far.
    deviation: f64,
    /// Expected half width of its interval.
    half_width: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{BetterDirection, Margin, decide_verdict};
    use crds::v1alpha1::Verdict;

    /// Whether a comparison is futile after `rounds` of at most 60 rounds if its interval extends from `lower` to
    /// `upper` percent.
    fn futile(rounds: u32, lower: f64, upper: f64) -> bool {
        let family = Family::new(6, 95.0).unwrap().with_analyses(4);
        let margin = Margin::from_percent(2.0).unwrap();
        let (lower, upper) = (lower / 100.0, upper / 100.0);
        let interval = Interval {
            estimate: f64::midpoint(lower, upper),
            lower,
            upper,
            level: family.level(),
        };
        let later = [20, 34, 60].into_iter().filter(|later| *later > rounds);
        Futility::new(family).is_futile(&interval, rounds, later, |interval| {
            decide_verdict(interval, margin, BetterDirection::HigherIsBetter) != Verdict::Inconclusive
        })
    }

    #[test]
    fn wide_interval_around_zero_is_futile() {
        assert!(futile(34, -12.0, 12.0));
        assert!(futile(34, -40.0, 41.0));
    }

    #[test]
    fn effect_at_a_bound_of_the_interval_can_still_be_decided_by_many_more_rounds() {
        assert!(!futile(20, -12.0, 12.0));
    }

    #[test]
    fn interval_that_later_rounds_can_move_out_of_the_margin_is_not_futile() {
        assert!(!futile(20, -1.0, 12.0));
        assert!(!futile(20, -12.0, 1.0));
        assert!(!futile(20, -2.5, 2.5), "equivalence is within reach");
    }

    #[test]
    fn comparison_without_later_analyses_is_futile() {
        let futility = Futility::new(Family::new(1, 95.0).unwrap());
        let interval = Interval {
            estimate: 0.5,
            lower: 0.4,
            upper: 0.6,
            level: 0.05,
        };
        assert!(futility.is_futile(&interval, 10, std::iter::empty(), |_| true));
        assert!(!futility.is_futile(&interval, 10, std::iter::once(20), |_| true));
    }
}
