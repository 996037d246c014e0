//! The interval for the shift between two independent samples, such as the rounds of two runs. Performs no I/O.
//!
//! It is the smallest interval that contains two others: the rank-sum interval, which is exact if the samples differ
//! only by a shift and is not sensitive to outliers, and Welch's interval, which holds if they also differ in spread.
//! Used alone, the rank-sum interval misses the shift too often if the smaller sample also has the larger spread
//! (`docs/simulated-coverage.md` has the numbers), and Welch's interval is only approximate for small samples.

use super::{Interval, rank_sum, welch};

/// The interval for the shift from `first` to `second` (all finite) at the two-sided `level`. `None` if the samples are
/// too small for that level or larger than [`rank_sum::MAX_SAMPLE`].
pub fn interval(first: &[f64], second: &[f64], level: f64) -> Option<Interval> {
    let ranks = rank_sum::interval(first, second, level)?;
    let (lower, upper) = welch::bounds(first, second, level)?;
    Some(Interval {
        lower: ranks.lower.min(lower),
        upper: ranks.upper.max(upper),
        level,
        ..ranks
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_both_intervals() {
        let first: Vec<f64> = (0..20).map(|index| f64::from(index) * 0.001).collect();
        let second: Vec<f64> = (0..9).map(|index| 0.1 + f64::from(index) * 0.02).collect();
        let found = interval(&first, &second, 0.05).unwrap();
        let ranks = rank_sum::interval(&first, &second, 0.05).unwrap();
        let (lower, upper) = welch::bounds(&first, &second, 0.05).unwrap();
        assert!(found.lower <= ranks.lower && found.lower <= lower);
        assert!(found.upper >= ranks.upper && found.upper >= upper);
        assert!((found.estimate - ranks.estimate).abs() < 1e-15);
    }
}
