//! What a number of rounds can show. Pure, no I/O.
//!
//! A verdict needs the whole interval on one side of an edge of the margin. With `n` rounds the estimate
//! must therefore lie beyond that edge by the *reach*
//!
//! ```text
//! reach(n) = half width of the interval + z * sqrt(pi / 3) * spread / sqrt(n),   z = 0.84
//! ```
//!
//! for the verdict to come with a probability of 80 percent: the second term is the 80 percent quantile of
//! the estimate's own error, as the Hodges-Lehmann estimate has the variance `pi / 3 * spread^2 / n` for
//! normal values (Lehmann, *Nonparametrics*, chapter 4). The spread is the median absolute deviation from
//! the median times 1.4826, which estimates the standard deviation of normal values and stays where it is
//! when a few rounds are outliers.
//!
//! For other numbers of rounds the half width is scaled by the half widths that the same exact interval has
//! on normal scores, so that the projection knows how much wider the interval is near the minimum of rounds.

use std::fmt;

use statrs::distribution::{ContinuousCDF, Normal};

use super::signed_rank::{self, median_of};
use super::{Family, Interval, Margin};

/// Probability with which an effect of the size of the minimum detectable one gets its verdict.
pub const POWER: f64 = 0.8;

/// Farthest that rounds are projected: the most that a run can have.
pub const MAX_PROJECTED_ROUNDS: u32 = 60;

/// Makes the median absolute deviation of normal values estimate their standard deviation.
const NORMAL_CONSISTENCY: f64 = 1.4826;

/// Fewest rounds whose spread means anything.
const MIN_ROUNDS_OF_SPREAD: usize = 3;

/// How many rounds, in all, would turn an inconclusive verdict into another one, if the effect is what it
/// was estimated to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundsToSettle {
    /// This many, with a probability of 80 percent.
    About(u32),
    /// The effect sits so near to the edge of the margin that more rounds than this would be needed.
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

/// Robust spread of the rounds around their median, as a standard deviation of logarithms; `None` for
/// fewer than three.
pub(super) fn robust_spread(rounds: &[f64]) -> Option<f64> {
    if rounds.len() < MIN_ROUNDS_OF_SPREAD {
        return None;
    }
    let center = median_of(&mut rounds.to_vec())?;
    let mut deviations: Vec<f64> = rounds.iter().map(|round| (round - center).abs()).collect();
    Some(NORMAL_CONSISTENCY * median_of(&mut deviations)?)
}

/// The smallest effect, as absolute logarithm of the ratio, for which as many rounds with this interval
/// and spread give `Improved` or `Regressed` with 80 percent probability.
pub(super) fn minimum_detectable_effect(
    interval: &Interval,
    spread: f64,
    rounds: usize,
    margin: Margin,
) -> f64 {
    margin.log_ratio() + reach(interval.half_width(), spread, rounds)
}

/// Rounds, in all, that would settle an inconclusive comparison with these `rounds` measured; more than
/// those, and at least the family's minimum. Without a spread to project from, what the family recommends.
pub(super) fn rounds_to_settle(
    rounds: &[f64],
    estimate: f64,
    interval: Option<&Interval>,
    family: &Family,
    margin: Margin,
) -> RoundsToSettle {
    let measured = u32::try_from(rounds.len()).unwrap_or(u32::MAX);
    let fewest = family.minimum_rounds().max(measured.saturating_add(1));
    let Some(spread) = robust_spread(rounds) else {
        return RoundsToSettle::About(fewest.max(family.recommended_rounds()));
    };
    let scale = interval
        .and_then(|interval| Some(interval.half_width() / normal_half_width(measured, family.level())?))
        .unwrap_or(spread);
    let distance = (estimate.abs() - margin.log_ratio()).abs();
    let settles = |count: u32| {
        normal_half_width(count, family.level())
            .is_some_and(|half_width| reach(scale * half_width, spread, count as usize) < distance)
    };
    if fewest > MAX_PROJECTED_ROUNDS || !settles(MAX_PROJECTED_ROUNDS) {
        return RoundsToSettle::MoreThan(MAX_PROJECTED_ROUNDS.max(measured));
    }
    let (mut low, mut high) = (fewest, MAX_PROJECTED_ROUNDS);
    while low < high {
        let middle = low.midpoint(high);
        if settles(middle) {
            high = middle
        } else {
            low = middle + 1
        }
    }
    RoundsToSettle::About(high)
}

fn reach(half_width: f64, spread: f64, rounds: usize) -> f64 {
    let error = (std::f64::consts::PI / 3.0 / rounds as f64).sqrt() * spread;
    half_width + Normal::standard().inverse_cdf(POWER) * error
}

/// Half width of the interval of `count` normal scores (Blom 1958), in standard deviations; `None` below
/// the minimum of rounds for `level`.
fn normal_half_width(count: u32, level: f64) -> Option<f64> {
    let normal = Normal::standard();
    let score = |rank: u32| normal.inverse_cdf((f64::from(rank) - 0.375) / (f64::from(count) + 0.25));
    let scores: Vec<f64> = (1..=count).map(score).collect();
    signed_rank::interval(&scores, level).map(|interval| interval.half_width())
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

    fn settle(rounds: &[f64], family: &Family) -> RoundsToSettle {
        let interval = signed_rank::interval(rounds, family.level());
        let estimate = signed_rank::estimate(rounds).unwrap();
        rounds_to_settle(rounds, estimate, interval.as_ref(), family, margin())
    }

    #[test]
    fn the_spread_is_that_of_normal_values_and_ignores_outliers() {
        let mut values = rounds(101, 0.3, 0.05);
        assert!((robust_spread(&values).unwrap() - 0.05).abs() < 0.002);
        values[0] = -40.0;
        values[100] = 40.0;
        assert!((robust_spread(&values).unwrap() - 0.05).abs() < 0.002);
        assert_eq!(robust_spread(&[0.1, 0.2]), None);
    }

    #[test]
    fn the_detectable_effect_shrinks_towards_the_margin() {
        let family = Family::new(1, 95.0).unwrap();
        let effect = |count: u32, spread: f64| {
            let values = rounds(count, 0.0, spread);
            let interval = signed_rank::interval(&values, family.level()).unwrap();
            minimum_detectable_effect(&interval, robust_spread(&values).unwrap(), values.len(), margin())
        };
        assert!(effect(10, 0.05) > effect(40, 0.05));
        assert!(effect(10, 0.05) > effect(10, 0.02));
        assert!(effect(200, 0.001) > margin().log_ratio());
        assert!((effect(10, 0.0) - margin().log_ratio()).abs() < 1e-12);
    }

    #[test]
    fn the_farther_from_the_margin_the_fewer_rounds() {
        let family = Family::new(1, 95.0).unwrap();
        let about = |center: f64| match settle(&rounds(10, center, 0.05), &family) {
            RoundsToSettle::About(count) => count,
            RoundsToSettle::MoreThan(_) => panic!("{center} is settled within the projection"),
        };
        assert!(about(0.035 + margin().log_ratio()) > about(0.04 + margin().log_ratio()));
        assert_eq!(
            about(0.03 + margin().log_ratio()),
            about(-0.03 - margin().log_ratio())
        );
        assert!(about(0.0) > 30, "equivalence needs a narrow interval");
    }

    #[test]
    fn an_effect_on_the_margin_is_never_settled() {
        let family = Family::new(28, 95.0).unwrap();
        let on_the_edge = rounds(15, margin().log_ratio(), 0.05);
        assert_eq!(settle(&on_the_edge, &family), RoundsToSettle::MoreThan(60));
        assert_eq!(
            settle(&rounds(300, margin().log_ratio(), 0.05), &family),
            RoundsToSettle::MoreThan(300)
        );
    }

    #[test]
    fn too_few_rounds_are_told_the_minimum_or_what_is_recommended() {
        let family = Family::new(28, 95.0).unwrap();
        assert_eq!(settle(&[0.5, 0.5], &family), RoundsToSettle::About(15));
        assert_eq!(settle(&rounds(5, 0.7, 0.001), &family), RoundsToSettle::About(11));
    }

    #[test]
    fn the_projection_is_the_detectable_effect_turned_round() {
        let family = Family::new(1, 95.0).unwrap();
        let values = rounds(10, 0.05, 0.05);
        let RoundsToSettle::About(count) = settle(&values, &family) else {
            panic!("settled")
        };
        let detectable = |count: u32| {
            let values = rounds(count, 0.0, 0.05);
            let interval = signed_rank::interval(&values, family.level()).unwrap();
            minimum_detectable_effect(&interval, robust_spread(&values).unwrap(), values.len(), margin())
        };
        assert!(detectable(count * 9 / 10) > 0.05 * 0.95 && detectable(count * 11 / 10) < 0.05 * 1.05);
    }
}
