//! Tests with values that are printed from known true values.

use proptest::prelude::*;

use super::*;

/// How a tool turns a value into a multiple of its last digit.
#[derive(Clone, Copy, Debug)]
enum Printing {
    Rounds,
    Truncates,
}

/// The value that a tool prints for `value` with a last digit of `unit`, with its bounds.
fn print(value: f64, unit: f64, printing: Printing) -> BoundedValue {
    match printing {
        Printing::Rounds => {
            let printed = (value / unit).round() * unit;
            BoundedValue {
                value: printed,
                least: (printed - unit / 2.0).max(0.0),
                most: printed + unit / 2.0,
            }
        }
        Printing::Truncates => {
            let printed = (value / unit).floor() * unit;
            BoundedValue {
                value: printed,
                least: printed,
                most: printed + unit,
            }
        }
    }
}

fn rounds_of(arm: BoundedValue, baseline: BoundedValue, count: usize) -> Vec<Vec<BoundedPair>> {
    vec![vec![BoundedPair { arm, baseline }]; count]
}

fn effects_of(rounds: &[Vec<BoundedPair>]) -> RoundEffects {
    RoundEffects::from_rounds(rounds.iter().map(Vec::as_slice)).unwrap()
}

fn two_percent() -> Margin {
    Margin::from_percent(2.0).unwrap()
}

#[test]
fn values_that_round_apart_include_no_change() {
    // 0.01495 and 0.01505 GB/s, printed with two decimals.
    let (baseline, arm) = (
        print(0.01495, 0.01, Printing::Rounds),
        print(0.01505, 0.01, Printing::Rounds),
    );
    let effects = effects_of(&rounds_of(arm, baseline, 10));
    assert!((effects.printed[0] - 2.0_f64.ln()).abs() < 1e-12);
    let interval = effects.interval(0.05).unwrap();
    assert!(
        interval.lower.abs() < 1e-9 && (interval.upper - 5.0_f64.ln()).abs() < 1e-9,
        "{interval:?}"
    );
    let resolution = effects.resolution().unwrap();
    let printed = signed_rank::interval(&effects.printed, 0.05);
    assert!(resolution.leaves_open(printed.as_ref(), two_percent(), BetterDirection::HigherIsBetter));
    assert_eq!(resolution.distance_from_edge(two_percent()), None);
}

#[test]
fn tenfold_change_is_decided_although_the_tool_prints_few_digits() {
    let (baseline, arm) = (
        print(0.02, 0.01, Printing::Rounds),
        print(0.2, 0.01, Printing::Rounds),
    );
    let effects = effects_of(&rounds_of(arm, baseline, 10));
    let interval = effects.interval(0.05).unwrap();
    assert_eq!(
        decide_verdict(&interval, two_percent(), BetterDirection::HigherIsBetter),
        Verdict::Improved
    );
    let resolution = effects.resolution().unwrap();
    assert!(!resolution.leaves_open(Some(&interval), two_percent(), BetterDirection::HigherIsBetter));
    assert!(resolution.distance_from_edge(two_percent()).is_some());
}

#[test]
fn exact_values_have_no_resolution_and_the_same_interval() {
    let rounds = rounds_of(BoundedValue::exact(2.0), BoundedValue::exact(1.0), 8);
    let effects = effects_of(&rounds);
    assert_eq!(effects, RoundEffects::from(vec![2.0_f64.ln(); 8]));
    assert_eq!(effects.resolution(), None);
    assert_eq!(
        effects.interval(0.05),
        signed_rank::interval(&effects.printed, 0.05)
    );
}

#[test]
fn contrast_of_one_factor_equals_the_comparison() {
    let value = |value| print(value, 0.1, Printing::Rounds);
    let pairs = rounds_of(value(1.3), value(2.2), 6);
    let contrast: Vec<Vec<Vec<BoundedValue>>> = pairs
        .iter()
        .map(|pairs| pairs.iter().map(|pair| vec![pair.baseline, pair.arm]).collect())
        .collect();
    let effects = RoundEffects::of_contrast(contrast.iter().map(Vec::as_slice), &[-1.0, 1.0]);
    let compared = effects_of(&pairs);
    let (one, other) = (effects.interval(0.05).unwrap(), compared.interval(0.05).unwrap());
    assert!((one.lower - other.lower).abs() < 1e-12 && (one.upper - other.upper).abs() < 1e-12);
}

proptest! {
    #[test]
    fn interval_contains_the_true_ratio_of_constant_values(
        (arm, baseline) in (0.01..100.0f64, 0.01..100.0f64),
        decimals in 1i32..6,
        truncates: bool,
        count in 6usize..20,
    ) {
        let printing = if truncates { Printing::Truncates } else { Printing::Rounds };
        let unit = 10.0_f64.powi(-decimals);
        let (printed_arm, printed_baseline) = (print(arm, unit, printing), print(baseline, unit, printing));
        prop_assume!(!printed_arm.is_below_resolution() && !printed_baseline.is_below_resolution());
        let interval = effects_of(&rounds_of(printed_arm, printed_baseline, count)).interval(0.05).unwrap();
        let truth = (arm / baseline).ln();
        prop_assert!(interval.lower <= truth + 1e-9 && truth - 1e-9 <= interval.upper, "{truth} {interval:?}");
    }

    #[test]
    fn interval_contains_the_interval_of_the_true_values(
        values in prop::collection::vec((0.5..2.0f64, 0.5..2.0f64), 6..20),
        decimals in 1i32..4,
    ) {
        let unit = 10.0_f64.powi(-decimals);
        let print = |value| print(value, unit, Printing::Rounds);
        let pair = |(arm, baseline): &(f64, f64)| vec![BoundedPair { arm: print(*arm), baseline: print(*baseline) }];
        let rounds: Vec<_> = values.iter().map(pair).collect();
        prop_assume!(!rounds.iter().flatten().any(|pair| pair.arm.is_below_resolution() || pair.baseline.is_below_resolution()));
        let found = effects_of(&rounds).interval(0.05).unwrap();
        let truth: Vec<f64> = values.iter().map(|(arm, baseline)| (arm / baseline).ln()).collect();
        let truth = signed_rank::interval(&truth, 0.05).unwrap();
        prop_assert!(found.lower <= truth.lower + 1e-9 && truth.upper - 1e-9 <= found.upper);
        prop_assert!(found.lower <= found.estimate && found.estimate <= found.upper);
    }
}
