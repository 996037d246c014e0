//! Power: the effect that a given number of rounds can detect, and the number of rounds needed to detect a given
//! effect. Performs no I/O.
//!
//! A verdict requires the whole interval to lie on one side of a bound of the margin. For a power of 80 percent, the
//! effect must lie beyond that bound by at least the *reach* of the rounds:
//!
//! ```text
//! reach(n) = scale * (k(n) + z * sqrt(pi / (3 n) + k(n)^2 / (2 n))),   z = 0.84, the 80 percent quantile
//! ```
//!
//! where `k(n)` is the half width of the exact interval computed from `n` normal scores, and `scale` is the spread of
//! the rounds as a standard deviation. The square root is the standard error, in units of `scale`, of the bound of the
//! interval that is nearer to the margin: the Hodges-Lehmann estimate has the variance `pi / (3 n)` (Lehmann,
//! *Nonparametrics*, chapter 4), and a width estimated from `n` values has a relative error of about `1 / sqrt(2 n)`.
//!
//! The scale is the half width of the measured interval divided by `k(n)`, so heavy tails have the same weight as in
//! the interval. If there are too few rounds for an interval, the scale is their robust spread: the median absolute
//! deviation from the median times 1.4826. `docs/simulated-coverage.md` reports the simulated power for the minimum
//! detectable effect.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::fmt;

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Family, Interval, Margin, Resolution, median_of, signed_rank};

/// Power that defines the minimum detectable effect: the probability that an effect of this size results in `Improved`
/// or `Regressed`.
pub const POWER: f64 = 0.8;

/// Maximum number of rounds of a run.
pub const MAX_ROUNDS: u32 = 60;

/// Factor that makes the median absolute deviation of normal values a consistent estimate of their standard deviation.
const NORMAL_CONSISTENCY: f64 = 1.4826;

/// Minimum number of rounds to compute a spread.
const MIN_ROUNDS_FOR_SPREAD: usize = 3;

/// Smallest total number of rounds that would settle an inconclusive verdict if the true effect equals its estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundsToSettle {
    /// About this many rounds, for a power of 80 percent.
    About(u32),
    /// More rounds than this, because the effect is close to a bound of the margin.
    MoreThan(u32),
}

impl fmt::Display for RoundsToSettle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoundsToSettle::About(rounds) => write!(f, "about {rounds} rounds"),
            RoundsToSettle::MoreThan(rounds) => write!(f, "more than {rounds} rounds"),
        }
    }
}

/// Robust spread of the rounds around their median, as a standard deviation of logarithms; `None` for fewer than three
/// rounds.
pub(super) fn robust_spread(rounds: &[f64]) -> Option<f64> {
    if rounds.len() < MIN_ROUNDS_FOR_SPREAD {
        return None;
    }
    let center = median_of(&mut rounds.to_vec())?;
    let mut deviations: Vec<f64> = rounds.iter().map(|round| (round - center).abs()).collect();
    Some(NORMAL_CONSISTENCY * median_of(&mut deviations)?)
}

/// What the power of a comparison depends on.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    /// Effects of the values as printed.
    pub rounds: &'a [f64],
    /// Their interval, without the resolution; `None` if there are too few rounds.
    pub interval: Option<&'a Interval>,
    /// Bounds of the effect without noise. For exact values, both are the estimate.
    pub resolution: Resolution,
    /// Family of the comparison.
    pub family: &'a Family,
    /// Margin of the comparison.
    pub margin: Margin,
}

impl Inputs<'_> {
    fn measured(&self) -> u32 {
        u32::try_from(self.rounds.len()).unwrap_or(u32::MAX)
    }

    /// The same rounds, whose true effect is known to be zero: the resolution around `estimate` is moved to zero.
    pub(super) fn without_effect(self, estimate: f64) -> Self {
        Self {
            resolution: Resolution {
                lower: self.resolution.lower - estimate,
                upper: self.resolution.upper - estimate,
            },
            ..self
        }
    }

    /// Minimum detectable effect: the smallest effect, as the absolute logarithm of the ratio, that results in
    /// `Improved` or `Regressed` with a probability of 80 percent, given this number of rounds, this interval width and
    /// this resolution around `estimate`. `None` if there is no interval.
    pub(super) fn minimum_detectable_effect(&self, estimate: f64) -> Option<f64> {
        let interval = self.interval?;
        let unit = UnitReach::new(self.measured(), self.family)?;
        let noise = interval.half_width() / unit.half_width * unit.reach;
        Some(self.margin.log_ratio() + self.resolution.reach_from(estimate) + noise)
    }

    /// Smallest total number of rounds that would settle an inconclusive comparison after these `rounds`. The total
    /// exceeds the number of rounds measured so far and is at least the family's minimum. If no spread is available,
    /// returns the family's recommendation. `None` if the resolution leaves the comparison open for any number of
    /// rounds.
    pub(super) fn rounds_to_settle(&self) -> Option<RoundsToSettle> {
        let distance = self.resolution.distance_from_edge(self.margin)?;
        let (measured, family) = (self.measured(), self.family);
        let minimum = family.minimum_rounds().max(measured.saturating_add(1));
        let interval_scale = self
            .interval
            .and_then(|interval| Some(interval.half_width() / UnitReach::new(measured, family)?.half_width));
        let Some(scale) = interval_scale.or_else(|| robust_spread(self.rounds)) else {
            return Some(RoundsToSettle::About(minimum.max(family.recommended_rounds())));
        };
        let settles =
            |count: u32| UnitReach::new(count, family).is_some_and(|unit| scale * unit.reach < distance);
        // The levels of the exact test are discrete, so one more round sometimes increases the reach. A binary search
        // could therefore skip the smallest number of rounds.
        Some(match (minimum..=MAX_ROUNDS).find(|count| settles(*count)) {
            Some(count) => RoundsToSettle::About(count),
            None => RoundsToSettle::MoreThan(MAX_ROUNDS.max(measured)),
        })
    }
}

thread_local! {
    /// Level of the family that was used last, and the results of [`UnitReach::new`] for this family by the number of
    /// rounds. All comparisons in a family need the same results, which take longer to compute than the comparisons
    /// themselves.
    static LATEST_FAMILY: RefCell<(f64, BTreeMap<u32, Option<UnitReach>>)> = const { RefCell::new((0.0, BTreeMap::new())) };
}

/// Half width and reach of rounds whose effects have a standard deviation of 1.
#[derive(Clone, Copy)]
pub(super) struct UnitReach {
    pub(super) half_width: f64,
    reach: f64,
}

impl UnitReach {
    /// Returns `None` if there are fewer rounds than the family's minimum.
    pub(super) fn new(rounds: u32, family: &Family) -> Option<UnitReach> {
        LATEST_FAMILY.with_borrow_mut(|(level, computed)| {
            if *level != family.level() {
                *level = family.level();
                computed.clear();
            }
            let known = computed.entry(rounds);
            *known.or_insert_with(|| UnitReach::compute(rounds, *level))
        })
    }

    fn compute(rounds: u32, level: f64) -> Option<UnitReach> {
        let normal = Normal::standard();
        let n = f64::from(rounds);
        // Expected order statistics of normal values, in the approximation of Blom (1958).
        let scores: Vec<f64> = (1..=rounds)
            .map(|rank| normal.inverse_cdf((f64::from(rank) - 0.375) / (n + 0.25)))
            .collect();
        let half_width = signed_rank::interval(&scores, level)?.half_width();
        let error = (PI / (3.0 * n) + half_width * half_width / (2.0 * n)).sqrt();
        Some(UnitReach {
            half_width,
            reach: half_width + normal.inverse_cdf(POWER) * error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn margin() -> Margin {
        Margin::from_percent(2.0).unwrap()
    }

    /// Normal scores around `center` with standard deviation `spread`.
    fn rounds(count: u32, center: f64, spread: f64) -> Vec<f64> {
        let normal = Normal::standard();
        (1..=count)
            .map(|rank| center + spread * normal.inverse_cdf((f64::from(rank) - 0.5) / f64::from(count)))
            .collect()
    }

    /// Inputs of exact values with this estimate.
    fn inputs<'a>(
        rounds: &'a [f64],
        estimate: f64,
        interval: Option<&'a Interval>,
        family: &'a Family,
    ) -> Inputs<'a> {
        Inputs {
            rounds,
            interval,
            resolution: Resolution::of_exact(estimate),
            family,
            margin: margin(),
        }
    }

    #[test]
    fn resolution_that_covers_an_edge_of_the_margin_is_never_settled() {
        let family = Family::new(1, 95.0).unwrap();
        let values = rounds(10, 0.05, 0.03);
        let interval = signed_rank::interval(&values, family.level()).unwrap();
        let around = |half: f64| Inputs {
            resolution: Resolution {
                lower: interval.estimate - half,
                upper: interval.estimate + half,
            },
            ..inputs(&values, interval.estimate, Some(&interval), &family)
        };
        assert_eq!(around(0.04).rounds_to_settle(), None);
        let Some(RoundsToSettle::About(coarse)) = around(0.01).rounds_to_settle() else {
            panic!("not settled")
        };
        let Some(RoundsToSettle::About(exact)) = around(0.0).rounds_to_settle() else {
            panic!("not settled")
        };
        assert!(coarse > exact);
        let detectable = |half| around(half).minimum_detectable_effect(interval.estimate).unwrap();
        assert!((detectable(0.02) - detectable(0.0) - 0.02).abs() < 1e-12);
    }

    fn settle(rounds: &[f64], family: &Family) -> RoundsToSettle {
        let interval = signed_rank::interval(rounds, family.level());
        let estimate = signed_rank::estimate(rounds).unwrap();
        let inputs = inputs(rounds, estimate, interval.as_ref(), family);
        inputs.rounds_to_settle().unwrap()
    }

    #[test]
    fn robust_spread_matches_normal_values_and_ignores_outliers() {
        let mut values = rounds(101, 0.3, 0.05);
        assert!((robust_spread(&values).unwrap() - 0.05).abs() < 0.002);
        values[0] = -40.0;
        values[100] = 40.0;
        assert!((robust_spread(&values).unwrap() - 0.05).abs() < 0.002);
        assert_eq!(robust_spread(&[0.1, 0.2]), None);
    }

    #[test]
    fn detectable_effect_shrinks_towards_the_margin() {
        let family = Family::new(1, 95.0).unwrap();
        let effect = |count: u32, spread: f64| {
            let values = rounds(count, 0.0, spread);
            let interval = signed_rank::interval(&values, family.level()).unwrap();
            inputs(&values, interval.estimate, Some(&interval), &family)
                .minimum_detectable_effect(interval.estimate)
                .unwrap()
        };
        assert!(effect(10, 0.05) > effect(40, 0.05));
        assert!(effect(10, 0.05) > effect(10, 0.02));
        assert!(effect(200, 0.001) > margin().log_ratio());
        assert!((effect(10, 0.0) - margin().log_ratio()).abs() < 1e-12);
    }

    #[test]
    fn effects_farther_from_the_margin_need_fewer_rounds() {
        let family = Family::new(1, 95.0).unwrap();
        let about = |center: f64| match settle(&rounds(10, center, 0.05), &family) {
            RoundsToSettle::About(count) => count,
            RoundsToSettle::MoreThan(_) => {
                panic!("{center} is not settled within the maximum number of rounds")
            }
        };
        assert!(about(0.035 + margin().log_ratio()) > about(0.04 + margin().log_ratio()));
        assert_eq!(
            about(0.03 + margin().log_ratio()),
            about(-0.03 - margin().log_ratio())
        );
        assert!(about(0.0) > 30, "equivalence needs a narrow interval");
    }

    #[test]
    fn effect_on_the_margin_is_never_settled() {
        let family = Family::new(28, 95.0).unwrap();
        let on_the_edge = rounds(15, margin().log_ratio(), 0.05);
        assert_eq!(settle(&on_the_edge, &family), RoundsToSettle::MoreThan(60));
        assert_eq!(
            settle(&rounds(300, margin().log_ratio(), 0.05), &family),
            RoundsToSettle::MoreThan(300)
        );
    }

    #[test]
    fn too_few_rounds_need_the_minimum_or_recommended_number() {
        let family = Family::new(28, 95.0).unwrap();
        assert_eq!(settle(&[0.5, 0.5], &family), RoundsToSettle::About(15));
        assert_eq!(settle(&rounds(5, 0.7, 0.001), &family), RoundsToSettle::About(11));
    }

    #[test]
    fn smallest_number_of_rounds_is_found_although_the_reach_is_not_monotonic() {
        let family = Family::new(8, 95.0).unwrap();
        let reach = |count| UnitReach::new(count, &family).unwrap().reach;
        assert!(reach(14) > reach(13) && reach(15) < reach(13));
        // The effect exceeds the margin by a little more than the reach of 13 rounds.
        let values = rounds(10, 0.0, 1.0);
        let interval = signed_rank::interval(&values, family.level()).unwrap();
        let scale = interval.half_width() / UnitReach::new(10, &family).unwrap().half_width;
        let estimate = margin().log_ratio() + scale * reach(13) * 1.001;
        assert!(estimate < margin().log_ratio() + scale * reach(14));
        assert_eq!(
            inputs(&values, estimate, Some(&interval), &family).rounds_to_settle(),
            Some(RoundsToSettle::About(13))
        );
    }

    #[test]
    fn rounds_to_settle_invert_the_minimum_detectable_effect() {
        let family = Family::new(1, 95.0).unwrap();
        let values = rounds(10, 0.05, 0.05);
        let RoundsToSettle::About(count) = settle(&values, &family) else {
            panic!("not settled")
        };
        let detectable = |count: u32| {
            let values = rounds(count, 0.0, 0.05);
            let interval = signed_rank::interval(&values, family.level()).unwrap();
            inputs(&values, interval.estimate, Some(&interval), &family)
                .minimum_detectable_effect(interval.estimate)
                .unwrap()
        };
        assert!(detectable(count * 9 / 10) > 0.05 * 0.95 && detectable(count * 11 / 10) < 0.05 * 1.05);
    }
}
