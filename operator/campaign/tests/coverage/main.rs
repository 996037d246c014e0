//! Tests the statistics on simulated campaigns with known true effects.
//!
//! The random number generator is seeded, so no test passes or fails by chance. The bounds are four standard errors
//! wide, so that another seed would pass too.

mod simulation;

use simulation::experiments::{self, Coverage, Share};
use simulation::noise::Noise;
use simulation::report;
use simulation::settled::{self, Model};

/// Maximum difference between a simulated fraction and its true value, in standard errors.
const TOLERANCE: f64 = 4.0;

fn standard_errors_above(expected: f64, share: &Share) -> f64 {
    (share.share - expected) / share.standard_error(expected)
}

fn assert_documented(section: &str) {
    let document = include_str!("../../../../docs/simulated-coverage.md");
    assert!(
        document.contains(section),
        "docs/simulated-coverage.md does not contain this section; regenerate it with `make generate-all`:\n{section}"
    );
}

fn assert_exact(rows: &[Coverage]) {
    for row in rows {
        assert!(row.covered.share >= 0.94, "{row:?}");
        let expected = report::exact_coverage(row.setting.rounds);
        assert!(
            standard_errors_above(expected, &row.covered).abs() < TOLERANCE,
            "{row:?}, not {expected}"
        );
    }
}

#[test]
fn page_describes_the_simulations() {
    assert_documented(report::INTRODUCTION);
}

#[test]
fn intervals_have_nominal_coverage() {
    let rows = experiments::random_order(1);
    assert_exact(&rows);
    assert_documented(&report::random_order(1, &rows));
}

#[test]
fn intervals_of_sixteen_pairs_have_nominal_coverage() {
    let rows = experiments::random_order(16);
    assert_exact(&rows);
    assert_documented(&report::random_order(16, &rows));
}

#[test]
fn fixed_order_has_low_coverage_under_drift_and_warm_up() {
    let rows = experiments::fixed_order();
    let lowest_coverage = |noise: Noise| {
        let rows_with_noise = rows.iter().filter(|row| row.setting.noise == noise);
        rows_with_noise
            .map(|row| row.covered.share)
            .fold(f64::INFINITY, f64::min)
    };
    assert!(lowest_coverage(Noise::Drifting) < 0.7, "{rows:?}");
    assert!(lowest_coverage(Noise::Warming) < 0.7, "{rows:?}");
    assert!(lowest_coverage(Noise::Normal) > 0.94, "{rows:?}");
    assert_documented(&report::fixed_order(&rows));
}

#[test]
fn pairs_treated_as_repetitions_have_low_coverage() {
    let rows = experiments::pairs_as_repetitions();
    assert!(rows.iter().all(|row| row.covered.share < 0.8), "{rows:?}");
    assert_documented(&report::pairs_as_repetitions(&rows));
}

#[test]
fn false_verdicts_occur_in_at_most_five_percent_of_scenarios() {
    let rows = experiments::false_verdicts();
    for row in &rows {
        assert!(standard_errors_above(0.05, &row.any) < TOLERANCE, "{row:?}");
        // A method that never gives a verdict would pass the assertion above, so require some verdicts.
        assert!(row.any.share > 0.005, "{row:?}");
    }
    assert_documented(&report::false_verdicts(&rows));
}

#[test]
fn comparison_of_two_runs_withstands_unequal_spreads() {
    let rows = experiments::between_runs();
    for row in &rows {
        // Welch's interval is approximate, so the test allows up to 1.3 times the nominal level.
        let excess = standard_errors_above(1.3 * row.level, &row.missed);
        assert!(excess < TOLERANCE, "{row:?}");
        if row.rounds == (20, 9) && row.spread > 1.0 {
            let excess = standard_errors_above(1.3 * row.level, &row.rank_sum);
            assert!(excess > TOLERANCE, "the rank-sum interval would suffice: {row:?}");
        }
    }
    assert_documented(&report::between_runs(&rows));
}

#[test]
fn minimum_detectable_effect_is_found_in_about_eighty_percent_of_campaigns() {
    let rows = experiments::power();
    for row in &rows {
        assert!((0.65..0.9).contains(&row.found.share), "{row:?}");
        if row.noise == Noise::Normal {
            assert!((row.found.share - 0.8).abs() < 0.05, "{row:?}");
        }
    }
    assert_documented(&report::power(&rows));
}

#[test]
fn settled_comparisons_have_simultaneous_coverage() {
    let rows = settled::coverage();
    for row in &rows {
        let fixed = row.missed_by_fixed.share.max(0.05);
        let bound = match row.model {
            Model::Same(_) => 0.05,
            // No error rate is guaranteed if the round effects are asymmetric, but several analyses must not miss the
            // effect more often than a single one does.
            Model::ChangedShape | Model::CarryOver => fixed,
        };
        assert!(standard_errors_above(bound, &row.missed) < TOLERANCE, "{row:?}");
    }
    assert_documented(&report::settled_coverage(&rows));
}

#[test]
fn settled_decides_more_with_fewer_rounds() {
    let rows = settled::costs();
    for row in &rows {
        // Because futile comparisons end early, about a tenth of all comparisons may end without a verdict that more
        // rounds would have given.
        let lost = row.without_futility.decided.share - row.settled.decided.share;
        assert!((0.0..0.12).contains(&lost), "{row:?}");
        assert!(row.settled.rounds <= row.without_futility.rounds, "{row:?}");
        let recommended = row.recommended.decided.share;
        assert!(row.settled.decided.share >= recommended - 0.02, "{row:?}");
        if row.effect_percent >= 10.0 {
            assert!(row.settled.decided.share > 0.95, "{row:?}");
            assert!(row.settled.rounds < row.maximum.rounds / 2.0, "{row:?}");
        }
    }
    assert_documented(&report::costs(&rows));
}
