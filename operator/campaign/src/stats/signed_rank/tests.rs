//! Tests the exact distribution against published tables and against every sign pattern.

use proptest::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};

use super::*;

/// Two-sided 5 percent critical values from published tables: the largest sum that is still significant.
#[test]
fn agrees_with_the_tables_of_critical_values() {
    let table = [
        (6, 0),
        (7, 2),
        (8, 3),
        (9, 5),
        (10, 8),
        (11, 10),
        (12, 13),
        (13, 17),
        (14, 21),
        (15, 25),
        (16, 29),
        (17, 34),
        (18, 40),
        (19, 46),
        (20, 52),
        (21, 58),
        (22, 65),
        (23, 73),
        (24, 81),
        (25, 89),
        (30, 137),
    ];
    for (count, sum) in table {
        assert_eq!(Cutoff::at(count, 0.05).unwrap().excluded, sum, "{count} values");
    }
    assert_eq!(Cutoff::at(8, 0.01).unwrap().excluded, 0);
    assert_eq!(Cutoff::at(15, 0.01).unwrap().excluded, 15);
}

#[test]
fn the_achieved_level_is_a_step_of_the_exact_distribution() {
    assert_eq!(Cutoff::at(6, 0.05).unwrap().level(), 0.03125);
    // 25 of the 1024 subsets of the ranks 1 to 10 have a sum of 8 or less.
    assert_eq!(Cutoff::at(10, 0.05).unwrap().level(), 2.0 * 25.0 / 1024.0);
    assert_eq!(Cutoff::at(11, 0.05 / 28.0).unwrap().level(), 2.0 / 2048.0);
}

#[test]
fn too_few_values_have_no_cutoff() {
    for (count, level) in [(0, 0.05), (1, 0.05), (5, 0.05), (10, 0.05 / 28.0)] {
        assert_eq!(Cutoff::at(count, level), None, "{count} values at {level}");
    }
    assert_eq!(interval(&[1.0; 5], 0.05), None);
    assert_eq!(estimate(&[]), None);
}

/// Compares the level with the normal approximation with continuity correction, an independent way to compute the same
/// probability.
#[test]
fn approaches_the_normal_distribution_for_many_values() {
    let cutoff = Cutoff::at(250, 0.05).unwrap();
    let (mean, deviation) = (250.0 * 251.0 / 4.0, (250.0 * 251.0 * 501.0 / 24.0_f64).sqrt());
    let standardized = (cutoff.excluded as f64 + 0.5 - mean) / deviation;
    let normal = 2.0 * Normal::standard().cdf(standardized);
    assert!(
        (normal / cutoff.level() - 1.0).abs() < 0.01,
        "{normal} instead of {}",
        cutoff.level()
    );
}

/// The interval assumes only that all signs are equally likely: over all 2^10 sign patterns, its miss rate equals its
/// level.
#[test]
fn miss_rate_over_all_sign_patterns_equals_the_level() {
    let sizes = [0.31, 1.7, 0.02, 5.5, 2.23, 0.9, 11.0, 3.4, 0.57, 1.21];
    let missed = (0u32..1 << 10)
        .filter(|signs| {
            let signed: Vec<f64> = sizes
                .iter()
                .enumerate()
                .map(|(bit, size)| if signs >> bit & 1 == 1 { *size } else { -size })
                .collect();
            let interval = interval(&signed, 0.05).unwrap();
            interval.lower > 0.0 || interval.upper < 0.0
        })
        .count();
    assert_eq!(missed, 50);
}

#[test]
fn six_values_give_their_range_and_the_median_of_their_walsh_averages() {
    let interval = interval(&[3.0, 1.0, 2.0, 10.0, 4.0, 0.0], 0.05).unwrap();
    assert_eq!((interval.lower, interval.upper), (0.0, 10.0));
    // The 11th of the 21 averages is 2.5. The mean of the values is 3.3, and their median is 2.5.
    assert_eq!(interval.estimate, 2.5);
}

#[test]
fn zeros_bound_the_interval_and_equal_values_make_it_a_point() {
    let interval = interval(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.01, 0.01], 0.05).unwrap();
    assert_eq!(interval.lower, 0.0);
    assert!(interval.upper > 0.0);
    let flat = super::interval(&[0.2; 12], 0.05).unwrap();
    assert_eq!((flat.lower, flat.estimate, flat.upper), (0.2, 0.2, 0.2));
}

fn values() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-1.0..1.0f64, 6..40)
}

proptest! {
    #[test]
    fn interval_contains_the_estimate_and_stays_within_the_values(values in values()) {
        let interval = interval(&values, 0.05).unwrap();
        prop_assert!(interval.lower <= interval.estimate && interval.estimate <= interval.upper);
        prop_assert!(values.iter().any(|value| *value <= interval.lower));
        prop_assert!(values.iter().any(|value| *value >= interval.upper));
        prop_assert_eq!(estimate(&values), Some(interval.estimate));
    }

    #[test]
    fn a_stricter_level_never_narrows_the_interval(values in values(), levels in (0.04..0.5f64, 0.04..0.5f64)) {
        let (strict, lax) = (levels.0.min(levels.1), levels.0.max(levels.1));
        let (wide, narrow) = (interval(&values, strict).unwrap(), interval(&values, lax).unwrap());
        prop_assert!(wide.lower <= narrow.lower && narrow.upper <= wide.upper);
        prop_assert!(wide.level <= narrow.level && wide.level <= strict && narrow.level <= lax);
    }

    #[test]
    fn changing_all_signs_mirrors_the_interval(values in values()) {
        let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
        prop_assert_eq!(interval(&mirrored, 0.05), interval(&values, 0.05).map(|i| i.inverse()));
    }

    #[test]
    fn shifting_all_values_shifts_the_interval(values in values(), shift in -10.0..10.0f64) {
        let shifted: Vec<f64> = values.iter().map(|value| value + shift).collect();
        let (before, after) = (interval(&values, 0.05).unwrap(), interval(&shifted, 0.05).unwrap());
        for (before, after) in
            [(before.lower, after.lower), (before.estimate, after.estimate), (before.upper, after.upper)]
        {
            prop_assert!((before + shift - after).abs() < 1e-12);
        }
    }

    #[test]
    fn one_outlier_cannot_move_the_bounds_beyond_the_other_values(
        values in prop::collection::vec(-1.0..1.0f64, 15..16),
        outlier in 10.0..1e6f64,
    ) {
        // With 15 values at level 0.05, the interval excludes the 25 smallest and the 25 largest Walsh averages. One
        // outlier affects only 15 averages.
        let mut spoiled = values.clone();
        spoiled[3] = outlier;
        prop_assert!(interval(&spoiled, 0.05).unwrap().upper <= 1.0);
    }

    #[test]
    fn the_null_distribution_sums_to_one(count in 1usize..60) {
        let half = lower_half(count);
        let largest = count * (count + 1) / 2;
        let below: f64 = half.iter().sum();
        // By symmetry, both halves have the same probability. If the largest sum is even, both contain the middle sum.
        let middle = if largest % 2 == 0 { half[largest / 2] } else { 0.0 };
        prop_assert!((2.0 * below - middle - 1.0).abs() < 1e-12);
    }
}
