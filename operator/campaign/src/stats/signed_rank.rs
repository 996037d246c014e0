//! The interval based on the Wilcoxon signed-rank test. Performs no I/O.
//!
//! The Walsh averages of `n` values are the `n (n + 1) / 2` means of all pairs of values, including each value paired
//! with itself. Their median is the Hodges-Lehmann estimate. The `(c + 1)`-th smallest and the `(c + 1)`-th largest
//! average are the bounds of the interval of effects that the signed-rank test does not reject, where `c` is the
//! largest value for which the signed-rank sum is at most `c` with a probability of at most `level / 2`.
//!
//! The values must be independent and symmetric about the effect; they need not be normal or have the same spread.
//! Unlike the test, the interval needs no special treatment of ties and zeros: it is closed, and even with tied or
//! rounded values, the probability that it misses the effect is at most its level.
//!
//! Sources: Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, 3rd edition 2014, sections
//! 3.1 to 3.3; Lehmann, *Nonparametrics: Statistical Methods Based on Ranks*, revised edition 2006,
//! chapter 4; Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963) 598.

use super::Interval;
use super::median::median_of_sorted;

/// Number of outermost Walsh averages that an interval excludes at each end, and the resulting level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cutoff {
    excluded: usize,
    level: f64,
}

impl Cutoff {
    /// The cutoff for `count` values at the two-sided `level`. `None` if even the full range of the values misses the
    /// effect with a higher probability, that is, if `2 / 2^count` is above `level`.
    ///
    /// The null distribution is exact for every count. Its cost grows with the cube of the count: less than a
    /// millisecond for the maximum of 60 rounds.
    pub fn at(count: usize, level: f64) -> Option<Cutoff> {
        let mut below = 0.0;
        let mut cutoff = None;
        for (sum, probability) in lower_half(count).into_iter().enumerate() {
            below += probability;
            if below > level / 2.0 {
                break;
            }
            cutoff = Some(Cutoff {
                excluded: sum,
                level: 2.0 * below,
            });
        }
        cutoff
    }

    /// Probability that the interval misses the effect on either side; at most the requested level.
    pub fn level(&self) -> f64 {
        self.level
    }
}

/// The Hodges-Lehmann estimate of `values` (all finite); `None` if there are no values.
///
/// Time and memory grow with the square of the number of values.
pub fn estimate(values: &[f64]) -> Option<f64> {
    median_of_sorted(&walsh_averages(values))
}

/// The interval of `values` (all finite) at the two-sided `level`; `None` if there are too few values.
pub fn interval(values: &[f64], level: f64) -> Option<Interval> {
    let cutoff = Cutoff::at(values.len(), level)?;
    let averages = walsh_averages(values);
    let lower = *averages.get(cutoff.excluded)?;
    let upper = *averages.get(averages.len().checked_sub(1 + cutoff.excluded)?)?;
    let estimate = median_of_sorted(&averages)?;
    Some(Interval {
        estimate,
        lower,
        upper,
        level: cutoff.level,
    })
}

/// Null probabilities of the signed-rank sums from 0 to half of the largest sum.
///
/// Each rank is part of the sum with probability one half, so adding rank `r` turns `p[s]` into `(p[s] + p[s - r]) /
/// 2`.
fn lower_half(count: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; count * (count + 1) / 4 + 1];
    probabilities[0] = 1.0;
    for rank in 1..=count {
        let reached = (rank * (rank + 1) / 2).min(probabilities.len() - 1);
        for sum in (0..=reached).rev() {
            let with_rank = sum.checked_sub(rank).map_or(0.0, |rest| probabilities[rest]);
            probabilities[sum] = (probabilities[sum] + with_rank) / 2.0;
        }
    }
    probabilities
}

/// All Walsh averages of `values`, in ascending order.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (index, first) in values.iter().enumerate() {
        averages.extend(values[index..].iter().map(|second| 0.5 * first + 0.5 * second));
    }
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

#[cfg(test)]
mod tests;
