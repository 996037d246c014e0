//! What a comparison refuses.

use snafu::Snafu;

/// A number from outside with which no comparison can be made.
#[derive(Debug, Clone, PartialEq, Snafu)]
#[snafu(visibility(pub(super)))]
pub enum StatsError {
    /// The margin is negative or not a number.
    #[snafu(display("a margin of {percent} percent is no margin: give a percentage of 0 or more"))]
    Margin {
        /// As given.
        percent: f64,
    },
    /// The confidence is not between 50 and 100 percent.
    #[snafu(display("a confidence of {percent} percent cannot be had: give one above 50 and below 100"))]
    Confidence {
        /// As given.
        percent: f64,
    },
    /// A family without comparisons.
    #[snafu(display("a family needs at least one comparison: name an arm beside the baseline"))]
    EmptyFamily,
    /// A statistic that has no logarithm.
    #[snafu(display(
        "pair {pair} of the round has no ratio: {arm} for the arm over {baseline} for the baseline; \
         both must be above zero, so leave the pair out as invalid"
    ))]
    NoRatio {
        /// Position in the round's pairs, from 0.
        pair: usize,
        /// The arm's statistic.
        arm: f64,
        /// The baseline's statistic.
        baseline: f64,
    },
    /// An expected percentage that no ratio can have.
    #[snafu(display(
        "{percent} percent cannot be expected of a {what}: it must be 0 or more{}",
        if *what == "decrease" { " and below 100" } else { "" }
    ))]
    ExpectedPercent {
        /// `decrease` or `increase`.
        what: &'static str,
        /// As given.
        percent: f64,
    },
    /// An expected range that holds nothing.
    #[snafu(display(
        "no change is at least {min:.2} and at most {max:.2} percent: the minimum (the run's margin where \
         it is 0) must not be above the maximum"
    ))]
    ExpectedRange {
        /// Smallest expected change, percent.
        min: f64,
        /// Largest expected change, percent.
        max: f64,
    },
}
