//! Contrasts of a factorial design: the effect of each factor and of each interaction, from the values of all
//! combinations of the factors.
//!
//! The values are natural logarithms, so an effect is the logarithm of a ratio of metric values, and the ratios of
//! factors that do not interact multiply. Source: Box, Hunter and Hunter, *Statistics for Experimenters*, 2nd edition,
//! 2005, chapter 5. Here, an interaction is the whole change in an effect; that book divides the change by two.

/// Number of effects of `factors` factors: the effects of the factors, of their interactions and, for more than two
/// factors, of their combination. For two factors, the combination is their interaction.
pub fn effect_count(factors: usize) -> usize {
    (1 << factors) - 1 + usize::from(factors > 2)
}

/// Effect of the factors in `effect` (a set of binary digits, above 0), as the mean over all combinations of the other
/// factors. `values` holds the value of each combination at the index whose digits select its factors, so its length is
/// a power of two.
///
/// For one factor, the effect is the change caused by this factor. For two factors, it is the change that one factor
/// causes in the effect of the other. For three factors, it is the change that one factor causes in the interaction of
/// the other two.
pub fn effect(values: &[f64], effect: usize) -> f64 {
    let signed = values.iter().enumerate().map(|(combination, value)| {
        let missing = (effect & !combination).count_ones();
        if missing.is_multiple_of(2) { *value } else { -value }
    });
    // Each combination of the other factors contributes one difference.
    let others = values.len() >> effect.count_ones();
    signed.sum::<f64>() / others as f64
}

/// Effect of the factors in `factors` together, relative to the sum of their separate effects. The other factors are
/// absent. `values` has the same meaning as in [`effect`].
pub fn departure(values: &[f64], factors: usize) -> f64 {
    let value = |combination: usize| values.get(combination).copied().unwrap_or(f64::NAN);
    let change = |combination: usize| value(combination) - value(0);
    let single = (0..usize::BITS)
        .map(|digit| 1_usize << digit)
        .filter(|digit| factors & digit != 0);
    change(factors) - single.map(change).sum::<f64>()
}

/// Effect of the factor `factor` (one binary digit) in the combinations in which the factor `condition` is absent, and
/// in those in which it is present. `values` has the same meaning as in [`effect`].
pub fn conditional(values: &[f64], factor: usize, condition: usize) -> [f64; 2] {
    [0, condition].map(|state| {
        let kept = values.iter().enumerate();
        let kept: Vec<f64> = kept
            .filter(|(combination, _)| combination & condition == state)
            .map(|(_, value)| *value)
            .collect();
        // Without the digit of the condition, the digits above it move down by one position.
        let factor = if factor > condition { factor >> 1 } else { factor };
        effect(&kept, factor)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values of all combinations of three factors with these effects and interactions.
    fn combination_values(main: [f64; 3], pair: [f64; 3], all: f64) -> Vec<f64> {
        let value = |combination: usize| {
            let has = |factors: usize| f64::from(u8::from(combination & factors == factors));
            1.0 + main[0] * has(1)
                + main[1] * has(2)
                + main[2] * has(4)
                + pair[0] * has(3)
                + pair[1] * has(5)
                + pair[2] * has(6)
                + all * has(7)
        };
        (0..8).map(value).collect()
    }

    #[test]
    fn finds_planted_effects_of_two_factors() {
        let values = [1.0, 1.5, 0.8, 1.6];
        assert!((effect(&values, 0b01) - (0.5 + 0.8) / 2.0).abs() < 1e-12);
        assert!((effect(&values, 0b10) - (-0.2 + 0.1) / 2.0).abs() < 1e-12);
        assert!((effect(&values, 0b11) - 0.3).abs() < 1e-12);
        assert!((departure(&values, 0b11) - 0.3).abs() < 1e-12);
        let [without, with] = conditional(&values, 0b01, 0b10);
        assert!((without - 0.5).abs() < 1e-12 && (with - 0.8).abs() < 1e-12);
        let [without, with] = conditional(&values, 0b10, 0b01);
        assert!((without + 0.2).abs() < 1e-12 && (with - 0.1).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn finds_planted_effects_of_three_factors(
            main in prop::array::uniform3(-1.0..1.0f64),
            pair in prop::array::uniform3(-1.0..1.0f64),
            all in -1.0..1.0f64,
        ) {
            let values = combination_values(main, pair, all);
            let close = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
            prop_assert!(close(effect(&values, 1), main[0] + (pair[0] + pair[1]) / 2.0 + all / 4.0));
            prop_assert!(close(effect(&values, 3), pair[0] + all / 2.0));
            prop_assert!(close(effect(&values, 6), pair[2] + all / 2.0));
            prop_assert!(close(effect(&values, 7), all));
            prop_assert!(close(departure(&values, 7), pair.iter().sum::<f64>() + all));
            prop_assert!(close(departure(&values, 5), pair[1]));
        }

        #[test]
        fn interaction_is_the_difference_of_conditional_effects(
            values in prop::collection::vec(-1.0..1.0f64, 8),
        ) {
            for (factor, condition) in [(1, 2), (2, 1), (1, 4), (4, 1), (2, 4), (4, 2)] {
                let [without, with] = conditional(&values, factor, condition);
                prop_assert!((effect(&values, factor | condition) - (with - without)).abs() < 1e-9);
                prop_assert!((effect(&values, factor) - (with + without) / 2.0).abs() < 1e-9);
            }
        }
    }
}
