//! Everything that the rounds of one comparison say. Pure, no I/O.

use crds::v1alpha1::Verdict;
use snafu::Snafu;

use super::power::{self, RoundsToSettle};
use super::{Direction, Family, Interval, Margin, judge, signed_rank};

/// The answer of one comparison. Effects are natural logarithms of ratios arm over baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedResult {
    /// Number of rounds that counted.
    pub rounds: usize,
    /// Hodges-Lehmann estimate; there is one from the first round on.
    pub estimate: Option<f64>,
    /// The estimate with its interval at the family's level, or why there is none.
    pub interval: Result<Interval, NoInterval>,
    /// `Inconclusive` where there is no interval.
    pub verdict: Verdict,
    /// Robust standard deviation of the rounds, from three rounds on.
    pub spread: Option<f64>,
    /// Smallest absolute effect that this many rounds with this spread tell from none with 80 percent
    /// probability; none without an interval.
    pub minimum_detectable_effect: Option<f64>,
    /// For an `Inconclusive` verdict on rounds that have an estimate: how many rounds would settle it.
    pub rounds_to_settle: Option<RoundsToSettle>,
}

/// Why a comparison has no interval.
#[derive(Debug, Clone, PartialEq, Eq, Snafu)]
pub enum NoInterval {
    /// The exact interval at the family's level does not exist for so few rounds.
    #[snafu(display(
        "too few rounds ({rounds}) for a verdict: at least {minimum} are needed here, {recommended} are recommended"
    ))]
    TooFewRounds {
        /// Rounds that counted.
        rounds: usize,
        /// Comparisons in the family.
        comparisons: u32,
        /// Fewest rounds with an interval.
        minimum: u32,
        /// Rounds with which one outlier does not decide.
        recommended: u32,
    },
    /// The effect of a round is not a number.
    #[snafu(display("round {round} has no finite effect: leave it out as invalid"))]
    NotFinite {
        /// Position in the rounds given, from 0.
        round: usize,
    },
}

/// Compares an arm with the baseline: `rounds` holds one effect per round in which both are valid, as
/// [`round_effect`](super::round_effect) gives them, in any order.
pub fn paired(rounds: &[f64], family: &Family, margin: Margin, direction: Direction) -> PairedResult {
    if let Some(round) = rounds.iter().position(|effect| !effect.is_finite()) {
        return PairedResult {
            rounds: rounds.len(),
            estimate: None,
            interval: Err(NoInterval::NotFinite { round }),
            verdict: Verdict::Inconclusive,
            spread: None,
            minimum_detectable_effect: None,
            rounds_to_settle: None,
        };
    }
    let interval = signed_rank::interval(rounds, family.level());
    let estimate = interval
        .map(|interval| interval.estimate)
        .or_else(|| signed_rank::estimate(rounds));
    let verdict = interval.map_or(Verdict::Inconclusive, |interval| {
        judge(&interval, margin, direction)
    });
    PairedResult {
        rounds: rounds.len(),
        estimate,
        verdict,
        spread: power::robust_spread(rounds),
        minimum_detectable_effect: interval
            .and_then(|interval| power::minimum_detectable_effect(&interval, rounds.len(), family, margin)),
        rounds_to_settle: estimate
            .filter(|_| verdict == Verdict::Inconclusive)
            .map(|estimate| power::rounds_to_settle(rounds, estimate, interval.as_ref(), family, margin)),
        interval: interval.ok_or(NoInterval::TooFewRounds {
            rounds: rounds.len(),
            comparisons: family.comparisons(),
            minimum: family.minimum_rounds(),
            recommended: family.recommended_rounds(),
        }),
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
    fn a_clear_effect_gets_its_verdict_and_nothing_to_settle() {
        let rounds: Vec<f64> = (0..15).map(|i| -0.06 + 0.001 * f64::from(i % 5)).collect();
        let result = paired(&rounds, &family(), margin(), Direction::LowerIsBetter);
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
            paired(&rounds, &family(), margin(), Direction::HigherIsBetter).verdict,
            Verdict::Regressed
        );
    }

    #[test]
    fn too_few_rounds_are_inconclusive_however_clear_and_say_what_is_needed() {
        let result = paired(&[-0.5; 10], &family(), margin(), Direction::LowerIsBetter);
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
    fn nothing_measured_and_nothing_finite_are_inconclusive() {
        let empty = paired(&[], &family(), margin(), Direction::LowerIsBetter);
        assert_eq!(
            (empty.verdict, empty.estimate, empty.rounds_to_settle),
            (Verdict::Inconclusive, None, None)
        );
        let broken = paired(&[0.0, f64::NAN], &family(), margin(), Direction::LowerIsBetter);
        assert_eq!(broken.interval, Err(NoInterval::NotFinite { round: 1 }));
        assert_eq!(broken.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn equivalence_is_shown_by_a_narrow_interval() {
        let rounds: Vec<f64> = (0..15).map(|i| 0.002 * f64::from(i - 7)).collect();
        let result = paired(&rounds, &family(), margin(), Direction::LowerIsBetter);
        assert_eq!(result.verdict, Verdict::NoChange);
    }

    proptest! {
        #[test]
        fn improved_for_a_ratio_is_regressed_for_its_inverse(
            rounds in prop::collection::vec(-0.2..0.2f64, 6..20),
            shift in -0.3..0.3f64,
        ) {
            let family = Family::new(1, 95.0).unwrap();
            let rounds: Vec<f64> = rounds.iter().map(|round| round + shift).collect();
            let inverse: Vec<f64> = rounds.iter().map(|round| -round).collect();
            let result = paired(&rounds, &family, margin(), Direction::LowerIsBetter);
            let mirrored = paired(&inverse, &family, margin(), Direction::LowerIsBetter);
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
        fn the_order_of_the_rounds_does_not_matter(rounds in prop::collection::vec(-0.2..0.2f64, 0..20)) {
            let family = Family::new(1, 95.0).unwrap();
            let reversed: Vec<f64> = rounds.iter().rev().copied().collect();
            prop_assert_eq!(
                paired(&rounds, &family, margin(), Direction::LowerIsBetter),
                paired(&reversed, &family, margin(), Direction::LowerIsBetter)
            );
        }
    }
}
