//! The effect of one round in one comparison. Performs no I/O.

use snafu::ensure;

use super::error::{NoRatioSnafu, StatsError};
use super::median_of;

/// The values that one pair of workers measured for an arm and the baseline in the same block, in which both arms are
/// valid. Both values have the same unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The arm's value, above zero.
    pub arm: f64,
    /// The baseline's value, above zero.
    pub baseline: f64,
}

/// The effect of a round: the median over its pairs of `ln(arm / baseline)`.
///
/// The pairs in a round share its conditions, so they are not independent repetitions: the statistical unit is the
/// round, and the median reduces it to one number. `Ok(None)` if no pair of the round has both arms valid.
///
/// # Errors
/// Returns [`StatsError::NoRatio`] for the first pair with a value that is not finite or not above zero.
pub fn round_effect(pairs: &[Pair]) -> Result<Option<f64>, StatsError> {
    let mut effects = Vec::with_capacity(pairs.len());
    for (index, &Pair { arm, baseline }) in pairs.iter().enumerate() {
        let measured = |value: f64| value.is_finite() && value > 0.0;
        ensure!(
            measured(arm) && measured(baseline),
            NoRatioSnafu {
                pair: index,
                arm,
                baseline
            }
        );
        effects.push(arm.ln() - baseline.ln());
    }
    Ok(median_of(&mut effects))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pair(arm: f64, baseline: f64) -> Pair {
        Pair { arm, baseline }
    }

    #[test]
    fn round_effect_is_the_median_of_the_log_ratios() {
        let effect = |pairs: &[Pair]| round_effect(pairs).unwrap();
        assert_eq!(effect(&[]), None);
        let odd = effect(&[pair(2.0, 1.0), pair(90.0, 100.0), pair(1.0, 7.0)]).unwrap();
        assert!((odd - 0.9_f64.ln()).abs() < 1e-12);
        let even = effect(&[pair(2.0, 1.0), pair(8.0, 1.0)]).unwrap();
        assert!((even - 4.0_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn names_the_pair_without_a_ratio() {
        for (arm, baseline) in [(0.0, 1.0), (1.0, -1.0), (f64::INFINITY, 1.0)] {
            assert_eq!(
                round_effect(&[pair(1.0, 1.0), pair(arm, baseline)]),
                Err(StatsError::NoRatio {
                    pair: 1,
                    arm,
                    baseline
                })
            );
        }
    }

    proptest! {
        #[test]
        fn exchanging_the_arms_changes_the_sign(
            values in prop::collection::vec((1.0..1e9f64, 1.0..1e9f64), 1..20),
        ) {
            let forward: Vec<Pair> = values.iter().map(|&(a, b)| pair(a, b)).collect();
            let backward: Vec<Pair> = values.iter().map(|&(a, b)| pair(b, a)).collect();
            let (forward, backward) = (round_effect(&forward).unwrap(), round_effect(&backward).unwrap());
            prop_assert_eq!(forward, backward.map(|effect| -effect));
        }
    }
}
