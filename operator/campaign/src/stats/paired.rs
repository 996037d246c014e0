//! The result of one comparison of paired rounds. Performs no I/O.

use crds::v1alpha1::Verdict;
use snafu::Snafu;

use super::power::{self, RoundsToSettle};
use super::{
    BetterDirection, Family, Interval, Margin, Resolution, RoundEffects, decide_verdict, signed_rank,
};

/// Result of one comparison. Effects are natural logarithms of the ratio of arm to baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedResult {
    /// Number of rounds used.
    pub rounds: usize,
    /// Hodges-Lehmann estimate; `None` if there are no rounds.
    pub estimate: Option<f64>,
    /// The estimate with its interval at the family's level, which includes the resolution of printed values, or the
    /// reason that no interval exists.
    pub interval: Result<Interval, NoInterval>,
    /// The interval of the values as printed, without their resolution; `None` if there are too few rounds.
    pub printed_interval: Option<Interval>,
    /// Resolution of the values; `None` if they are exact.
    pub resolution: Option<Resolution>,
    /// Verdict; `Inconclusive` if there is no interval.
    pub verdict: Verdict,
    /// Whether the verdict is `Inconclusive` because of the resolution, so that more rounds would not settle it.
    pub is_resolution_open: bool,
    /// Robust standard deviation of the rounds; `None` for fewer than three rounds.
    pub spread: Option<f64>,
    /// Minimum detectable effect: the smallest absolute effect that the comparison detects with a power of 80 percent,
    /// given the number and spread of its rounds. `None` if there is no interval.
    pub minimum_detectable_effect: Option<f64>,
    /// Number of rounds that would settle an `Inconclusive` verdict; `None` for other verdicts, if there is no estimate,
    /// and if the resolution leaves the verdict open.
    pub rounds_to_settle: Option<RoundsToSettle>,
    /// Number of rounds at which the interval would lie inside the margin if there is no effect; `None` if it already
    /// lies inside, if there is no interval, and if no number of rounds suffices.
    pub rounds_to_equivalence: Option<RoundsToSettle>,
}

/// Reason that a comparison has no interval.
#[derive(Debug, Clone, PartialEq, Eq, Snafu)]
pub enum NoInterval {
    /// There are so few rounds that no exact interval exists at the family's level.
    #[snafu(display(
        "too few rounds ({rounds}) for a verdict: at least {minimum} are needed, and {recommended} are recommended"
    ))]
    TooFewRounds {
        /// Number of rounds used.
        rounds: usize,
        /// Number of comparisons in the family.
        comparisons: u32,
        /// Minimum number of rounds for an interval.
        minimum: u32,
        /// Recommended number of rounds, at which a single outlier cannot decide the verdict.
        recommended: u32,
    },
    /// A tool printed 0 for a value that is not 0 but below its last digit, so that there is no ratio.
    #[snafu(display(
        "in {affected} of {rounds} rounds the tool printed 0, which is below its resolution, so there is no ratio"
    ))]
    BelowResolution {
        /// Number of rounds with such a value.
        affected: usize,
        /// Number of rounds in which both arms are valid.
        rounds: usize,
    },
    /// A round effect is not finite.
    #[snafu(display("round {round} has no finite effect: exclude it as invalid"))]
    NotFinite {
        /// Index of the round in the input.
        round: usize,
    },
}

impl PairedResult {
    /// The result of `rounds` rounds without an interval.
    fn without_interval(rounds: usize, reason: NoInterval) -> Self {
        Self {
            rounds,
            estimate: None,
            is_resolution_open: matches!(reason, NoInterval::BelowResolution { .. }),
            interval: Err(reason),
            printed_interval: None,
            resolution: None,
            verdict: Verdict::Inconclusive,
            spread: None,
            minimum_detectable_effect: None,
            rounds_to_settle: None,
            rounds_to_equivalence: None,
        }
    }

    /// The result of `rounds` rounds, of which `affected` have a value below the resolution of its tool.
    ///
    /// These rounds are not left out, because the remaining ones would be a selection by their values.
    pub fn below_resolution(affected: usize, rounds: usize) -> Self {
        Self::without_interval(rounds, NoInterval::BelowResolution { affected, rounds })
    }
}

/// Compares an arm with the baseline by exact values. `rounds` holds one effect for each round in which both are valid,
/// as computed by [`round_effect`](super::round_effect), in any order.
pub fn compare_paired(
    rounds: &[f64],
    family: &Family,
    margin: Margin,
    direction: BetterDirection,
) -> PairedResult {
    compare_bounded(&RoundEffects::from(rounds.to_vec()), family, margin, direction)
}

/// Compares an arm with the baseline by values that may be known to their last digit only. `rounds` holds one effect for
/// each round in which both are valid, in any order.
pub fn compare_bounded(
    rounds: &RoundEffects,
    family: &Family,
    margin: Margin,
    direction: BetterDirection,
) -> PairedResult {
    if let Some(round) = rounds.first_not_finite() {
        return PairedResult::without_interval(rounds.count(), NoInterval::NotFinite { round });
    }
    let printed = &rounds.printed;
    let printed_interval = rounds.printed_interval(family.level());
    let interval = printed_interval.and_then(|found| rounds.with_resolution(found, family.level()));
    let estimate = interval
        .map(|interval| interval.estimate)
        .or_else(|| signed_rank::estimate(printed));
    let verdict = interval.map_or(Verdict::Inconclusive, |interval| {
        decide_verdict(&interval, margin, direction)
    });
    let resolution = rounds.resolution();
    let is_resolution_open = verdict == Verdict::Inconclusive
        && resolution.is_some_and(|found| found.leaves_open(printed_interval.as_ref(), margin, direction));
    let power_inputs = |estimate: f64| power::Inputs {
        rounds: printed,
        interval: printed_interval.as_ref(),
        resolution: resolution.unwrap_or(Resolution::of_exact(estimate)),
        family,
        margin,
    };
    PairedResult {
        rounds: rounds.count(),
        estimate,
        verdict,
        spread: power::robust_spread(printed),
        minimum_detectable_effect: estimate
            .and_then(|estimate| power_inputs(estimate).minimum_detectable_effect(estimate)),
        rounds_to_settle: estimate
            .filter(|_| verdict == Verdict::Inconclusive && !is_resolution_open)
            .and_then(|estimate| power_inputs(estimate).rounds_to_settle()),
        rounds_to_equivalence: estimate
            .filter(|_| verdict != Verdict::NoChange && interval.is_some())
            .and_then(|estimate| power_inputs(estimate).without_effect(estimate).rounds_to_settle()),
        interval: interval.ok_or(NoInterval::TooFewRounds {
            rounds: rounds.count(),
            comparisons: family.comparisons(),
            minimum: family.minimum_rounds(),
            recommended: family.recommended_rounds(),
        }),
        printed_interval,
        resolution,
        is_resolution_open,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn family() -> Family {
        Family::new(28, 95.0).unwrap()
    }

    fn margin() -> Margin {
        Margin::from_percent(2.0).unwrap()
    }

    #[test]
    fn clear_effect_gets_a_verdict_and_needs_no_more_rounds() {
        let rounds: Vec<f64> = (0..15).map(|i| -0.06 + 0.001 * f64::from(i % 5)).collect();
        let result = compare_paired(&rounds, &family(), margin(), BetterDirection::LowerIsBetter);
        assert_eq!(result.verdict, Verdict::Improved);
        assert_eq!(result.rounds_to_settle, None);
        let interval = result.interval.unwrap();
        assert!(interval.level <= family().level() && interval.upper <= -0.056);
        let detectable = result.minimum_detectable_effect.unwrap();
        assert!(
            detectable > margin().log_ratio() && detectable < 0.03,
            "{detectable}"
        );
        assert_eq!(
            compare_paired(&rounds, &family(), margin(), BetterDirection::HigherIsBetter).verdict,
            Verdict::Regressed
        );
    }

    #[test]
    fn too_few_rounds_are_inconclusive_and_report_the_minimum() {
        let result = compare_paired(&[-0.5; 10], &family(), margin(), BetterDirection::LowerIsBetter);
        assert_eq!(result.verdict, Verdict::Inconclusive);
        assert_eq!(result.estimate, Some(-0.5));
        assert_eq!(result.rounds_to_settle, Some(RoundsToSettle::About(11)));
        let reason = result.interval.unwrap_err().to_string();
        assert!(
            reason.contains("too few rounds (10)") && reason.contains("at least 11"),
            "{reason}"
        );
    }

    #[test]
    fn missing_and_non_finite_rounds_are_inconclusive() {
        let empty = compare_paired(&[], &family(), margin(), BetterDirection::LowerIsBetter);
        assert_eq!(
            (empty.verdict, empty.estimate, empty.rounds_to_settle),
            (Verdict::Inconclusive, None, None)
        );
        let broken = compare_paired(
            &[0.0, f64::NAN],
            &family(),
            margin(),
            BetterDirection::LowerIsBetter,
        );
        assert_eq!(broken.interval, Err(NoInterval::NotFinite { round: 1 }));
        assert_eq!(broken.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn narrow_interval_inside_the_margin_is_no_change() {
        let rounds: Vec<f64> = (0..15).map(|i| 0.002 * f64::from(i - 7)).collect();
        let result = compare_paired(&rounds, &family(), margin(), BetterDirection::LowerIsBetter);
        assert_eq!(result.verdict, Verdict::NoChange);
    }

    proptest! {
        #[test]
        fn verdict_is_mirrored_for_the_inverse_ratio(
            rounds in prop::collection::vec(-0.2..0.2f64, 6..20),
            shift in -0.3..0.3f64,
        ) {
            let family = Family::new(1, 95.0).unwrap();
            let rounds: Vec<f64> = rounds.iter().map(|round| round + shift).collect();
            let inverse: Vec<f64> = rounds.iter().map(|round| -round).collect();
            let result = compare_paired(&rounds, &family, margin(), BetterDirection::LowerIsBetter);
            let mirrored = compare_paired(&inverse, &family, margin(), BetterDirection::LowerIsBetter);
            let expected = match result.verdict {
                Verdict::Improved => Verdict::Regressed,
                Verdict::Regressed => Verdict::Improved,
                other => other,
            };
            prop_assert_eq!(mirrored.verdict, expected);
            prop_assert_eq!(mirrored.rounds_to_settle, result.rounds_to_settle);
            prop_assert_eq!(mirrored.minimum_detectable_effect, result.minimum_detectable_effect);
        }

        #[test]
        fn order_of_rounds_does_not_matter(rounds in prop::collection::vec(-0.2..0.2f64, 0..20)) {
            let family = Family::new(1, 95.0).unwrap();
            let reversed: Vec<f64> = rounds.iter().rev().copied().collect();
            prop_assert_eq!(
                compare_paired(&rounds, &family, margin(), BetterDirection::LowerIsBetter),
                compare_paired(&reversed, &family, margin(), BetterDirection::LowerIsBetter)
            );
        }
    }
}
