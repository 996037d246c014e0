//! The family of comparisons whose intervals hold simultaneously.

use std::num::NonZeroU32;

use snafu::{OptionExt, ensure};

use super::error::{ConfidenceSnafu, EmptyFamilySnafu, StatsError};

/// Rounds recommended beyond the minimum. With the minimum number of rounds, the interval spans their whole range, so
/// one outlier widens it without bound; with four more rounds, the interval excludes several of the outermost Walsh
/// averages.
pub const SPARE_ROUNDS: u32 = 4;

/// Comparisons whose intervals hold simultaneously, such as the comparisons of one scenario that get a verdict, or all
/// controls of a run: the probability of any false verdict in the family is at most `1 - confidence`.
///
/// With the Bonferroni correction, each of `m` comparisons gets the two-sided level `alpha / (m K)` at each of `K`
/// analyses of the run, where `alpha` is `1 - confidence`. Among the usual corrections, Bonferroni was chosen because
/// it yields simultaneous intervals, from which verdicts are derived. If there are several analyses, the intervals are
/// repeated confidence intervals: by the union bound, they hold at all analyses simultaneously, and therefore at
/// whichever analysis a comparison ends, for whatever reason. Source: Jennison and Turnbull, *Group Sequential Methods
/// with Applications to Clinical Trials*, 2000, chapter 9.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Family {
    comparisons: NonZeroU32,
    analyses: NonZeroU32,
    alpha: f64,
}

impl Family {
    /// Creates a family of `comparisons` (at least 1) with a simultaneous confidence of `confidence_percent` (above 50,
    /// below 100).
    ///
    /// # Errors
    /// Returns [`StatsError::EmptyFamily`] if there are no comparisons, and [`StatsError::Confidence`] if the
    /// confidence is outside that range.
    pub fn new(comparisons: u32, confidence_percent: f64) -> Result<Family, StatsError> {
        let comparisons = NonZeroU32::new(comparisons).context(EmptyFamilySnafu)?;
        ensure!(
            confidence_percent > 50.0 && confidence_percent < 100.0,
            ConfidenceSnafu {
                percent: confidence_percent
            }
        );
        Ok(Family {
            comparisons,
            analyses: NonZeroU32::MIN,
            alpha: (100.0 - confidence_percent) / 100.0,
        })
    }

    /// Divides the level equally among `analyses` analyses (at least 1) of the same comparisons.
    #[must_use]
    pub fn with_analyses(self, analyses: usize) -> Family {
        let analyses = u32::try_from(analyses).unwrap_or(u32::MAX);
        Family {
            analyses: NonZeroU32::new(analyses).unwrap_or(NonZeroU32::MIN),
            ..self
        }
    }

    /// Number of comparisons, `m`.
    pub fn comparisons(&self) -> u32 {
        self.comparisons.get()
    }

    /// Two-sided level of one comparison at one analysis, `alpha / (m K)`.
    pub fn level(&self) -> f64 {
        self.alpha / (f64::from(self.comparisons.get()) * f64::from(self.analyses.get()))
    }

    /// Minimum number of rounds for which an interval at [`level`](Self::level) exists: `ceil(log2(2 m K / alpha))`,
    /// since the smallest two-sided level with `n` rounds is `2 / 2^n`.
    pub fn minimum_rounds(&self) -> u32 {
        (2.0 / self.level()).log2().ceil() as u32
    }

    /// Recommended number of rounds, at which a single outlier cannot decide the verdict: [`SPARE_ROUNDS`] more than
    /// the minimum.
    pub fn recommended_rounds(&self) -> u32 {
        self.minimum_rounds() + SPARE_ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::signed_rank::Cutoff;

    #[test]
    fn computes_the_minimum_and_recommended_rounds_for_four_arms_at_seven_sizes() {
        let family = Family::new(28, 95.0).unwrap();
        assert_eq!((family.minimum_rounds(), family.recommended_rounds()), (11, 15));
        assert!((family.level() - 0.05 / 28.0).abs() < 1e-15);
        assert_eq!(Family::new(1, 95.0).unwrap().minimum_rounds(), 6);
    }

    #[test]
    fn analyses_divide_the_level() {
        let family = Family::new(6, 95.0).unwrap();
        let analyzed = family.with_analyses(4);
        assert!((analyzed.level() - family.level() / 4.0).abs() < 1e-15);
        assert_eq!((family.minimum_rounds(), analyzed.minimum_rounds()), (8, 10));
        assert_eq!(family.with_analyses(1), family);
    }

    #[test]
    fn rejects_empty_family_and_invalid_confidence() {
        assert_eq!(Family::new(0, 95.0), Err(StatsError::EmptyFamily));
        for percent in [0.0, 50.0, 100.0, 120.0, f64::INFINITY] {
            assert_eq!(Family::new(1, percent), Err(StatsError::Confidence { percent }));
        }
        assert!(Family::new(1, f64::NAN).is_err());
    }

    proptest! {
        #[test]
        fn interval_exists_only_with_at_least_the_minimum_rounds(
            comparisons in 1u32..100_000,
            confidence in prop::sample::select(vec![75.0, 80.0, 87.5, 90.0, 95.0, 96.875, 99.0, 99.9]),
        ) {
            let family = Family::new(comparisons, confidence).unwrap();
            let minimum = family.minimum_rounds() as usize;
            prop_assert!(Cutoff::at(minimum, family.level()).is_some());
            prop_assert!(Cutoff::at(minimum - 1, family.level()).is_none());
        }
    }
}
