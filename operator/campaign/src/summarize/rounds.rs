//! The valid cases of an arm at one size by round, and medians over them.

use std::collections::BTreeMap;

use crate::collect::Measured;
use crate::stats::median_of;

/// The valid cases of each round, one for each pair.
pub(super) type Rounds<'a> = BTreeMap<u32, Vec<&'a Measured>>;

/// Median of `value` over the pairs, for every round with a value.
pub(super) fn medians_by_round(
    rounds: &Rounds<'_>,
    value: impl Fn(&Measured) -> Option<f64>,
) -> Vec<(u32, f64)> {
    let of_round = |(round, pairs): (&u32, &Vec<&Measured>)| {
        let mut values: Vec<f64> = pairs.iter().filter_map(|case| value(case)).collect();
        median_of(&mut values).map(|median| (*round, median))
    };
    rounds.iter().filter_map(of_round).collect()
}

/// Median over the rounds of the median of `value` over the pairs; `None` without a value.
pub(super) fn median_of_rounds(rounds: &Rounds<'_>, value: impl Fn(&Measured) -> Option<f64>) -> Option<f64> {
    let medians = medians_by_round(rounds, value).into_iter();
    median_of(&mut medians.map(|(_, median)| median).collect::<Vec<_>>())
}
