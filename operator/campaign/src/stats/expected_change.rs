//! Compares an interval with the change that an expectation specifies. Performs no I/O.

use crds::v1alpha1::ExpectationOutcome;
use snafu::ensure;

use super::error::{ExpectedPercentSnafu, ExpectedRangeSnafu, StatsError};
use super::ratio::{log_ratio_of_decrease, log_ratio_of_increase, percent_change};
use super::{Interval, Margin};

/// An expected change, such as "10 to 20 percent lower" or "up to twice as much".
///
/// Its bounds are stored as gains, which are logarithms of the ratio in the expected direction, so that increases and
/// decreases are compared in the same way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedChange {
    direction: ExpectedDirection,
    min_gain: f64,
    max_gain: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ExpectedDirection {
    Decrease,
    Increase,
}

/// Outcome of an expectation at one size, or at several sizes combined by [`combine_outcomes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// The whole interval lies at or above the expected minimum.
    Met {
        /// Whether the whole interval lies above the expected maximum: the effect exceeds the expectation.
        above_maximum: bool,
    },
    /// The whole interval lies below the expected minimum.
    NotMet,
    /// The expected minimum lies within the interval.
    Inconclusive,
}

impl From<ChangeOutcome> for ExpectationOutcome {
    fn from(outcome: ChangeOutcome) -> ExpectationOutcome {
        match outcome {
            ChangeOutcome::Met { .. } => ExpectationOutcome::Met,
            ChangeOutcome::NotMet => ExpectationOutcome::NotMet,
            ChangeOutcome::Inconclusive => ExpectationOutcome::Inconclusive,
        }
    }
}

impl ExpectedChange {
    /// Expects the metric to decrease by at least `min` and at most `max` percent of the baseline.
    ///
    /// A `min` of 0 expects any decrease beyond `margin`: "up to 20 percent lower" claims a change, and changes up to
    /// the margin count as no change.
    ///
    /// # Errors
    /// Returns [`StatsError::ExpectedPercent`] if a decrease is below 0 or is 100 percent or more, and
    /// [`StatsError::ExpectedRange`] if the minimum is above the maximum.
    pub fn decrease(min: f64, max: Option<f64>, margin: Margin) -> Result<ExpectedChange, StatsError> {
        ExpectedChange::new(ExpectedDirection::Decrease, min, max, margin)
    }

    /// Expects the metric to increase by at least `min` and at most `max` percent of the baseline: "up to twice as
    /// much" corresponds to a `max` of 100. A `min` of 0 expects any increase beyond `margin`, as in
    /// [`decrease`](Self::decrease).
    ///
    /// # Errors
    /// Returns the same errors as [`decrease`](Self::decrease).
    pub fn increase(min: f64, max: Option<f64>, margin: Margin) -> Result<ExpectedChange, StatsError> {
        ExpectedChange::new(ExpectedDirection::Increase, min, max, margin)
    }

    fn new(
        direction: ExpectedDirection,
        min: f64,
        max: Option<f64>,
        margin: Margin,
    ) -> Result<Self, StatsError> {
        let stated = direction.gain(min)?;
        let min_gain = if stated > 0.0 { stated } else { margin.log_ratio() };
        let max_gain = max.map(|percent| direction.gain(percent)).transpose()?;
        if let Some(max_gain) = max_gain {
            ensure!(
                min_gain <= max_gain,
                ExpectedRangeSnafu {
                    min: direction.percent(min_gain),
                    max: direction.percent(max_gain)
                }
            );
        }
        Ok(ExpectedChange {
            direction,
            min_gain,
            max_gain,
        })
    }

    /// Compares `interval` with the expectation.
    pub fn evaluate(&self, interval: &Interval) -> ChangeOutcome {
        let gain = self.direction.gains(interval);
        if gain.lower >= self.min_gain {
            ChangeOutcome::Met {
                above_maximum: self.max_gain.is_some_and(|max| gain.lower > max),
            }
        } else if gain.upper < self.min_gain {
            ChangeOutcome::NotMet
        } else {
            ChangeOutcome::Inconclusive
        }
    }

    /// Returns `interval` in percent of the baseline in the expected direction, smallest change first. A negative value
    /// is a change in the other direction.
    pub fn observed_percent(&self, interval: &Interval) -> (f64, f64) {
        let gain = self.direction.gains(interval);
        (
            self.direction.percent(gain.lower),
            self.direction.percent(gain.upper),
        )
    }
}

impl ExpectedDirection {
    fn gain(self, percent: f64) -> Result<f64, StatsError> {
        let (direction, possible) = match self {
            ExpectedDirection::Decrease => ("decrease", percent < 100.0),
            ExpectedDirection::Increase => ("increase", percent.is_finite()),
        };
        ensure!(
            possible && percent >= 0.0,
            ExpectedPercentSnafu { direction, percent }
        );
        Ok(match self {
            ExpectedDirection::Decrease => -log_ratio_of_decrease(percent),
            ExpectedDirection::Increase => log_ratio_of_increase(percent),
        })
    }

    fn gains(self, interval: &Interval) -> Interval {
        match self {
            ExpectedDirection::Decrease => interval.inverse(),
            ExpectedDirection::Increase => *interval,
        }
    }

    fn percent(self, gain: f64) -> f64 {
        match self {
            ExpectedDirection::Decrease => -percent_change(-gain),
            ExpectedDirection::Increase => percent_change(gain),
        }
    }
}

/// Combines an expectation's outcomes at several sizes: the expectation must be met at every size. `None` if there are
/// no outcomes.
pub fn combine_outcomes(outcomes: impl IntoIterator<Item = ChangeOutcome>) -> Option<ChangeOutcome> {
    outcomes.into_iter().reduce(|all, one| match (all, one) {
        (ChangeOutcome::NotMet, _) | (_, ChangeOutcome::NotMet) => ChangeOutcome::NotMet,
        (ChangeOutcome::Inconclusive, _) | (_, ChangeOutcome::Inconclusive) => ChangeOutcome::Inconclusive,
        (ChangeOutcome::Met { above_maximum: a }, ChangeOutcome::Met { above_maximum: b }) => {
            ChangeOutcome::Met {
                above_maximum: a || b,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn margin() -> Margin {
        Margin::from_percent(2.0).unwrap()
    }

    /// Builds an interval from changes in percent of the baseline.
    fn interval(low_percent: f64, high_percent: f64) -> Interval {
        let (lower, upper) = ((low_percent / 100.0).ln_1p(), (high_percent / 100.0).ln_1p());
        Interval {
            estimate: (lower + upper) / 2.0,
            lower,
            upper,
            level: 0.05,
        }
    }

    #[test]
    fn evaluates_an_expected_decrease_of_10_to_20_percent() {
        let expected = ExpectedChange::decrease(10.0, Some(20.0), margin()).unwrap();
        let table = [
            ((-18.0, -12.0), ChangeOutcome::Met { above_maximum: false }),
            ((-30.0, -15.0), ChangeOutcome::Met { above_maximum: false }),
            ((-30.0, -21.0), ChangeOutcome::Met { above_maximum: true }),
            ((-12.0, -8.0), ChangeOutcome::Inconclusive),
            ((-7.8, -3.7), ChangeOutcome::NotMet),
            ((5.0, 12.0), ChangeOutcome::NotMet),
        ];
        for ((low, high), outcome) in table {
            assert_eq!(
                expected.evaluate(&interval(low, high)),
                outcome,
                "[{low}, {high}]"
            );
        }
        let (smallest, largest) = expected.observed_percent(&interval(-7.8, -3.7));
        assert!((smallest - 3.7).abs() < 1e-9 && (largest - 7.8).abs() < 1e-9);
    }

    #[test]
    fn increase_of_at_most_100_percent_is_met_by_any_increase_beyond_the_margin() {
        let expected = ExpectedChange::increase(0.0, Some(100.0), margin()).unwrap();
        assert_eq!(
            expected.evaluate(&interval(3.0, 50.0)),
            ChangeOutcome::Met { above_maximum: false }
        );
        assert_eq!(
            expected.evaluate(&interval(110.0, 130.0)),
            ChangeOutcome::Met { above_maximum: true }
        );
        assert_eq!(
            expected.evaluate(&interval(1.0, 50.0)),
            ChangeOutcome::Inconclusive
        );
        assert_eq!(expected.evaluate(&interval(-1.0, 1.0)), ChangeOutcome::NotMet);
    }

    #[test]
    fn rejects_impossible_percentages_with_a_reason() {
        let rejection_message = |result: Result<ExpectedChange, StatsError>| result.unwrap_err().to_string();
        let total = rejection_message(ExpectedChange::decrease(100.0, None, margin()));
        assert!(
            total.contains("100 percent") && total.contains("below 100"),
            "{total}"
        );
        let negative = rejection_message(ExpectedChange::increase(-5.0, None, margin()));
        assert!(
            negative.contains("-5 percent") && !negative.contains("below 100"),
            "{negative}"
        );
        assert!(ExpectedChange::increase(0.0, Some(f64::NAN), margin()).is_err());
        let crossed = rejection_message(ExpectedChange::decrease(20.0, Some(10.0), margin()));
        assert!(
            crossed.contains("at least 20") && crossed.contains("at most 10"),
            "{crossed}"
        );
        assert!(ExpectedChange::increase(0.0, Some(1.0), margin()).is_err());
    }

    #[test]
    fn expectation_is_met_only_if_all_sizes_meet_it() {
        let met = ChangeOutcome::Met { above_maximum: false };
        let above = ChangeOutcome::Met { above_maximum: true };
        assert_eq!(combine_outcomes([]), None);
        assert_eq!(combine_outcomes([met, met]), Some(met));
        assert_eq!(combine_outcomes([met, above, met]), Some(above));
        assert_eq!(
            combine_outcomes([met, ChangeOutcome::Inconclusive]),
            Some(ChangeOutcome::Inconclusive)
        );
        assert_eq!(
            combine_outcomes([ChangeOutcome::Inconclusive, ChangeOutcome::NotMet, met]),
            Some(ChangeOutcome::NotMet)
        );
    }

    proptest! {
        #[test]
        fn a_decrease_equals_the_increase_of_the_inverse_ratio(
            ends in (-0.5..0.5f64, -0.5..0.5f64),
            min in 0.0..50.0f64,
        ) {
            let (lower, upper) = (ends.0.min(ends.1), ends.0.max(ends.1));
            let interval = Interval { estimate: lower, lower, upper, level: 0.05 };
            let decrease = ExpectedChange::decrease(min, None, margin()).unwrap();
            let inverse_min = 100.0 * min / (100.0 - min);
            let increase = ExpectedChange::increase(inverse_min, None, margin()).unwrap();
            // The two minima agree only up to rounding, so bounds that lie on the minimum are excluded.
            prop_assume!((-interval.upper + (-min / 100.0).ln_1p()).abs() > 1e-9);
            prop_assume!((-interval.lower + (-min / 100.0).ln_1p()).abs() > 1e-9);
            prop_assert_eq!(decrease.evaluate(&interval), increase.evaluate(&interval.inverse()));
        }
    }
}
