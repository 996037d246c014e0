//! Quantiles of raw samples by exclusive interpolation. Performs no I/O.
//!
//! The instrument stores the samples of a fixed-iteration case and reports these quantiles in addition to the
//! histogram, so that results can be compared with scripts that compute `statistics.quantiles(samples, n=20)[18]` in
//! Python.

/// Returns the `cut`-th of the cut points that divide `sorted` into `parts` parts of equal probability.
///
/// Between the samples, equivalent to `statistics.quantiles(sorted, n=parts)[cut - 1]` in Python with its default method
/// `exclusive` (Hyndman and Fan 1996, definition 6): the value at rank `(len + 1) * cut / parts`,
/// interpolated linearly between the two adjacent ranks. p95 is `(19, 20)`, p99 is `(99, 100)`, and
/// `(1, 2)` is the median.
///
/// Below the first and above the last rank, where Python extrapolates from the two nearest samples, the result is the
/// smallest or the largest sample, so that no quantile is outside the measured range.
///
/// `sorted` must be in ascending order and may have any unit; the result has the same unit. Every quantile of a single
/// sample is that sample, as in Python 3.13 (earlier versions raise an exception). Returns `None` if there are no
/// samples or `cut` is not in `1..parts`.
pub fn exclusive(sorted: &[u64], cut: u32, parts: u32) -> Option<f64> {
    if cut == 0 || cut >= parts {
        return None;
    }
    let [_, .., _] = sorted else {
        return sorted.first().map(|&only| only as f64);
    };
    let (cut, parts, count) = (i128::from(cut), i128::from(parts), sorted.len() as i128);
    let rank = cut * (count + 1);
    let below = (rank / parts).clamp(1, count - 1);
    let beyond = rank - below * parts;
    let index = usize::try_from(below).ok()?;
    let (low, high) = (
        i128::from(*sorted.get(index - 1)?),
        i128::from(*sorted.get(index)?),
    );
    let beyond = beyond.clamp(0, parts);
    Some((low * (parts - beyond) + high * beyond) as f64 / parts as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::exclusive;

    /// Values of `statistics.quantiles(data, n=parts)[cut - 1]` in Python 3.11, limited to the range of the data.
    #[test]
    fn matches_python() {
        let latencies = [288, 295, 296, 297, 299, 300, 301, 303, 305, 310, 420, 1210];
        let ramp: Vec<u64> = (1..=1000).collect();
        let squares: Vec<u64> = (1..100).map(|i| i * i).collect();
        let table: [(&[u64], u32, u32, f64); 12] = [
            (&latencies, 1, 2, 300.5),
            (&latencies, 1, 4, 296.25),
            (&latencies, 19, 20, 1210.0),
            (&latencies, 99, 100, 1210.0),
            (&latencies, 1, 100, 288.0),
            (&[7, 11], 99, 100, 11.0),
            (&[7, 11], 1, 20, 7.0),
            (&ramp, 19, 20, 950.95),
            (&ramp, 99, 100, 990.99),
            (&ramp, 999, 1000, 999.999),
            (&squares, 99, 100, 9801.0),
            (&squares, 999, 1000, 9801.0),
        ];
        for (samples, cut, parts, expected) in table {
            assert_eq!(
                exclusive(samples, cut, parts),
                Some(expected),
                "{cut}/{parts} of {} samples",
                samples.len()
            );
        }
    }

    #[test]
    fn returns_none_without_samples_or_for_an_invalid_cut() {
        assert_eq!(exclusive(&[], 1, 2), None);
        assert_eq!(exclusive(&[1, 2, 3], 0, 2), None);
        assert_eq!(exclusive(&[1, 2, 3], 2, 2), None);
        assert_eq!(exclusive(&[1, 2, 3], 1, 0), None);
        assert_eq!(exclusive(&[5], 99, 100), Some(5.0));
    }

    #[test]
    fn largest_values_do_not_overflow() {
        let top = exclusive(&[u64::MAX, u64::MAX], u32::MAX - 1, u32::MAX);
        assert_eq!(top, Some(u64::MAX as f64));
    }

    proptest! {
        #[test]
        fn never_decreases_with_the_cut_and_the_median_is_the_middle(
            mut samples in prop::collection::vec(0u64..1 << 40, 2..200),
            cut in 1u32..99,
        ) {
            samples.sort_unstable();
            prop_assert!(exclusive(&samples, cut, 100) <= exclusive(&samples, cut + 1, 100));
            let (low, high) = (samples[(samples.len() - 1) / 2], samples[samples.len() / 2]);
            prop_assert_eq!(exclusive(&samples, 1, 2), Some((low + high) as f64 / 2.0));
            let (smallest, largest) = (samples[0] as f64, samples[samples.len() - 1] as f64);
            let value = exclusive(&samples, cut, 100).unwrap();
            prop_assert!((smallest..=largest).contains(&value), "{value}");
        }
    }
}
