//! Parameters and values that the statistics reject.

use snafu::Snafu;

/// A parameter or value that is outside its valid range.
#[derive(Debug, Clone, PartialEq, Snafu)]
#[snafu(visibility(pub(super)))]
pub enum StatsError {
    /// The margin is negative or not a number.
    #[snafu(display("a margin of {percent} percent is not valid: it must be 0 or more"))]
    Margin {
        /// The value given.
        percent: f64,
    },
    /// The confidence is not between 50 and 100 percent.
    #[snafu(display("a confidence of {percent} percent is not valid: it must be above 50 and below 100"))]
    Confidence {
        /// The value given.
        percent: f64,
    },
    /// The family has no comparisons.
    #[snafu(display("a family needs at least one comparison: specify an arm in addition to the baseline"))]
    EmptyFamily,
    /// The ratio of arm to baseline has no logarithm, because a value is not finite or not above zero.
    #[snafu(display(
        "pair {pair} of the round has no ratio: {arm} for the arm over {baseline} for the baseline; \
         both must be above zero, so exclude the pair as invalid"
    ))]
    NoRatio {
        /// Index of the pair in the round.
        pair: usize,
        /// Value of the arm.
        arm: f64,
        /// Value of the baseline.
        baseline: f64,
    },
    /// The expected percentage is impossible for a ratio.
    #[snafu(display(
        "an expected {direction} of {percent} percent is not valid: it must be 0 or more{}",
        if *direction == "decrease" { " and below 100" } else { "" }
    ))]
    ExpectedPercent {
        /// `decrease` or `increase`.
        direction: &'static str,
        /// The value given.
        percent: f64,
    },
    /// The expected range is empty.
    #[snafu(display(
        "no change can be at least {min:.2} and at most {max:.2} percent: the minimum (or the margin of the \
         run, if the minimum is 0) must not exceed the maximum"
    ))]
    ExpectedRange {
        /// Minimum expected change, in percent.
        min: f64,
        /// Maximum expected change, in percent.
        max: f64,
    },
}
