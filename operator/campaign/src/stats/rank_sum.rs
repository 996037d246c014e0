//! The interval based on the Wilcoxon rank-sum test for two independent samples. Performs no I/O.
//!
//! The median of all differences between a value of the second sample and one of the first is the Hodges-Lehmann
//! estimate of the shift. The `(c + 1)`-th smallest and the `(c + 1)`-th largest difference are the bounds of the
//! interval of shifts that the test does not reject, where `c` is the largest value for which the Mann-Whitney count is
//! at most `c` with a probability of at most `level / 2`. The samples must be independent and differ only by a shift.
//!
//! Source: Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, 3rd edition 2014, sections 4.1 to 4.3.

use super::Interval;
use super::median_of;

/// Maximum size of a sample. Every run has fewer rounds than this.
pub const MAX_SAMPLE: usize = 200;

/// The interval of the shift from `first` to `second` (all finite) at the two-sided `level`. `None` if the samples are
/// too small for that level or larger than [`MAX_SAMPLE`].
pub fn interval(first: &[f64], second: &[f64], level: f64) -> Option<Interval> {
    if first.len().max(second.len()) > MAX_SAMPLE {
        return None;
    }
    let mut differences: Vec<f64> = second
        .iter()
        .flat_map(|in_second| first.iter().map(move |in_first| in_second - in_first))
        .collect();
    let estimate = median_of(&mut differences)?;
    differences.sort_by(f64::total_cmp);
    let (excluded, level) = cutoff(first.len(), second.len(), level)?;
    Some(Interval {
        estimate,
        lower: *differences.get(excluded)?,
        upper: *differences.get(differences.len().checked_sub(excluded + 1)?)?,
        level,
    })
}

/// Minimum size of two samples of equal size for which an interval at `level` exists.
pub fn minimum_rounds(level: f64) -> u32 {
    let has_interval = |count: &u32| cutoff(*count as usize, *count as usize, level).is_some();
    (1..=MAX_SAMPLE as u32)
        .find(has_interval)
        .unwrap_or(MAX_SAMPLE as u32)
}

/// Number of differences to exclude at each end, and the resulting exact level.
fn cutoff(first: usize, second: usize, level: f64) -> Option<(usize, f64)> {
    let mut below = 0.0;
    let mut cutoff = None;
    for (count, probability) in distribution(first, second).into_iter().enumerate() {
        below += probability;
        if below > level / 2.0 {
            break;
        }
        cutoff = Some((count, 2.0 * below));
    }
    cutoff
}

/// Null distribution of the Mann-Whitney count for samples of `first` and `second` values, indexed by count.
///
/// Values are drawn in ascending order, each from either sample with a probability proportional to the number of values
/// left in it. Each value drawn from the second sample increases the count by the number of values already drawn from
/// the first.
fn distribution(first: usize, second: usize) -> Vec<f64> {
    // Probability of each count, indexed by the number of values drawn from the first sample.
    let mut drawn: Vec<Vec<f64>> = vec![vec![1.0]];
    for values in 1..=first + second {
        let most = values.min(first);
        let mut next: Vec<Vec<f64>> = vec![vec![0.0; first * second + 1]; most + 1];
        for (from_first, counts) in drawn.iter().enumerate() {
            let from_second = values - 1 - from_first;
            if from_second > second {
                continue;
            }
            let left = (first - from_first, second - from_second);
            let fraction = left.0 as f64 / (left.0 + left.1) as f64;
            for (count, probability) in counts
                .iter()
                .enumerate()
                .filter(|(_, probability)| **probability > 0.0)
            {
                if let Some(entry) = next
                    .get_mut(from_first + 1)
                    .and_then(|counts| counts.get_mut(count))
                {
                    *entry += probability * fraction;
                }
                if let Some(entry) = next
                    .get_mut(from_first)
                    .and_then(|counts| counts.get_mut(count + from_first))
                {
                    *entry += probability * (1.0 - fraction);
                }
            }
        }
        drawn = next;
    }
    drawn.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn agrees_with_published_tables() {
        // Critical values of the Mann-Whitney count at 5 percent, two-sided.
        for (first, second, critical) in [(5, 5, 2), (8, 10, 17), (10, 10, 23), (4, 7, 3)] {
            assert_eq!(
                cutoff(first, second, 0.05).map(|(count, _)| count),
                Some(critical),
                "{first}, {second}"
            );
        }
        assert_eq!(cutoff(3, 3, 0.05), None);
        assert_eq!(minimum_rounds(0.05), 4);
    }

    #[test]
    fn null_distribution_counts_every_arrangement_once() {
        let all = distribution(4, 4);
        assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((all[0] - 1.0 / 70.0).abs() < 1e-15);
        assert!((all[8] - 8.0 / 70.0).abs() < 1e-15);
    }

    #[test]
    fn finds_a_shift() {
        let first: Vec<f64> = (0..12).map(|index| f64::from(index) * 0.001).collect();
        let second: Vec<f64> = first.iter().map(|value| value + 0.1).collect();
        let found = interval(&first, &second, 0.05).unwrap();
        assert!(found.lower > 0.09 && found.upper < 0.11 && (found.estimate - 0.1).abs() < 1e-9);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn swapping_samples_negates_the_interval(
            first in prop::collection::vec(-1.0..1.0f64, 5..12),
            second in prop::collection::vec(-1.0..1.0f64, 5..12),
        ) {
            let (forth, back) = (interval(&first, &second, 0.05).unwrap(), interval(&second, &first, 0.05).unwrap());
            prop_assert!((forth.lower + back.upper).abs() < 1e-12 && (forth.upper + back.lower).abs() < 1e-12);
            prop_assert!((forth.level - back.level).abs() < 1e-12);
        }
    }
}
