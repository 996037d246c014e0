//! The statistics of comparisons: effects, exact intervals, verdicts and power. Performs no I/O and works on numbers
//! only, not on plans.
//!
//! The statistical unit is the round. [`round_effect`] reduces a round to one number, the median over pairs of `ln(arm
//! / baseline)`. [`compare_paired`] turns the rounds of one comparison into an estimate, an exact interval at the
//! simultaneous level of its [`Family`], a verdict, and the number of rounds that would settle it. [`ExpectedChange`]
//! compares the same interval with a stated expectation. [`null_check`] evaluates the comparisons that must show no
//! effect: control arms and negative controls. [`InterimAnalysis`] determines which comparisons end before the last
//! round. [`two_samples`] computes the interval that compares two runs.
//!
//! Effects in this module are natural logarithms of ratios; [`percent_change`] converts them to percentages for
//! display. `docs/methodology.md` describes the method, its sources and its simulated coverage.

mod analyses;
mod bounded;
pub mod contrast;
mod distribution;
mod error;
mod expected_change;
mod family;
mod futility;
mod interval;
mod margin;
mod median;
mod paired;
mod power;
pub mod rank_sum;
mod ratio;
mod resolution;
mod round_effect;
pub mod signed_rank;
pub mod two_samples;
mod verdict;
mod welch;

pub use analyses::{InterimAnalysis, QuestionState, analysis_rounds};
pub use bounded::BoundedValue;
pub use distribution::Distribution;
pub use error::StatsError;
pub use expected_change::{ChangeOutcome, ExpectedChange, combine_outcomes};
pub use family::{Family, SPARE_ROUNDS};
pub use futility::FUTILITY_POWER;
pub use interval::Interval;
pub use margin::Margin;
pub use median::median_of;
pub use paired::{NoInterval, PairedResult, compare_bounded, compare_paired};
pub use power::{MAX_ROUNDS, POWER, RoundsToSettle};
pub use ratio::percent_change;
pub use resolution::{BoundedPair, Resolution, RoundEffects};
pub use round_effect::{Pair, round_effect};
pub use verdict::{BetterDirection, NullCheck, decide_verdict, null_check};
