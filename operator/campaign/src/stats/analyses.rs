//! Interim analyses of a run with several analyses: after how many rounds they take place, and whether they end a
//! comparison. Performs no I/O.

use super::futility::Futility;
use super::{Family, Interval, Resolution};

/// Approximate ratio between the numbers of rounds at successive analyses. Each analysis consumes a share of the level,
/// so a comparison that an analysis does not decide is analyzed again only after considerably more rounds.
const GROWTH: f64 = 1.6;

/// Result of an analysis for one question about a comparison's interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuestionState {
    /// The interval decides the question.
    Decided,
    /// Later analyses are unlikely to decide the question.
    Futile,
    /// More rounds are needed.
    Open,
}

/// An interim analysis, before the last round, of the comparisons of one family.
pub struct InterimAnalysis {
    futility: Futility,
}

impl InterimAnalysis {
    /// Creates an analysis of the comparisons of `family`.
    pub fn new(family: Family) -> Self {
        Self {
            futility: Futility::new(family),
        }
    }

    /// Answers a question using the `interval` of exact values, computed from `rounds` rounds. `decides` returns whether
    /// an interval decides the question, and `later` contains the number of rounds at each later analysis.
    pub fn answer(
        &self,
        interval: &Interval,
        rounds: u32,
        later: impl Iterator<Item = u32>,
        decides: impl Fn(&Interval) -> bool,
    ) -> QuestionState {
        self.answer_with_resolution((interval, interval), None, rounds, later, decides)
    }

    /// Answers a question using the `interval` computed from `rounds` rounds and the interval of the values as
    /// `printed`, without their `resolution`. Only the latter narrows with more rounds.
    pub fn answer_with_resolution(
        &self,
        (interval, printed): (&Interval, &Interval),
        resolution: Option<&Resolution>,
        rounds: u32,
        later: impl Iterator<Item = u32>,
        decides: impl Fn(&Interval) -> bool,
    ) -> QuestionState {
        let decides_widened = |later: &Interval| {
            let widened = resolution.map(|found| found.widen(later, printed.estimate));
            decides(widened.as_ref().unwrap_or(later))
        };
        if decides(interval) {
            QuestionState::Decided
        } else if self.futility.is_futile(printed, rounds, later, decides_widened) {
            QuestionState::Futile
        } else {
            QuestionState::Open
        }
    }
}

/// Round counts, in ascending order, after which a run of `rounds` rounds (at least 1) is analyzed. The last is
/// `rounds`. The first is the recommended number for `largest`, the family with the most comparisons, at the level of
/// one analysis. Each subsequent count is about [`GROWTH`] times its predecessor.
pub fn analysis_rounds(rounds: u32, largest: &Family) -> Vec<u32> {
    // A larger number of analyses makes the level of each one stricter, so the first one needs more rounds, which
    // leaves room for fewer analyses. The loop finds the smallest number of analyses that leaves no room for another
    // analysis.
    let mut count = 1;
    while analysis_count(first_analysis(largest, count), rounds) > count {
        count += 1;
    }
    let first = f64::from(first_analysis(largest, count).min(rounds));
    let growth = f64::from(rounds) / first;
    let number = |index: usize| {
        let exponent = index as f64 / (count - 1).max(1) as f64;
        (first * growth.powf(exponent)).round() as u32
    };
    (0..count - 1).map(number).chain([rounds]).collect()
}

/// Recommended number of rounds for the first of `count` analyses.
fn first_analysis(largest: &Family, count: usize) -> u32 {
    largest.with_analyses(count).recommended_rounds()
}

/// Number of analyses from the first, after `first` rounds, to the last, after `rounds` rounds.
fn analysis_count(first: u32, rounds: u32) -> usize {
    let steps = (f64::from(rounds) / f64::from(first)).ln() / GROWTH.ln();
    1 + steps.round().max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn analyses(comparisons: u32, rounds: u32) -> Vec<u32> {
        analysis_rounds(rounds, &Family::new(comparisons, 95.0).unwrap())
    }

    #[test]
    fn each_analysis_has_about_1_6_times_as_many_rounds_as_the_previous_one() {
        assert_eq!(analyses(1, 60), [12, 21, 35, 60]);
        assert_eq!(analyses(6, 60), [14, 23, 37, 60]);
        assert_eq!(analyses(28, 60), [17, 26, 39, 60]);
        assert_eq!(analyses(6, 15), [15]);
        assert_eq!(analyses(6, 3), [3]);
    }

    proptest! {
        #[test]
        fn first_analysis_has_an_interval_and_the_last_has_all_rounds(
            comparisons in 1u32..5_000,
            rounds in 1u32..=60,
        ) {
            let analyses = analyses(comparisons, rounds);
            prop_assert_eq!(analyses.last(), Some(&rounds));
            prop_assert!(analyses.is_sorted_by(|first, second| first < second), "{:?}", analyses);
            let family = Family::new(comparisons, 95.0).unwrap().with_analyses(analyses.len());
            prop_assert!(analyses.len() == 1 || analyses[0] >= family.recommended_rounds());
        }
    }
}
