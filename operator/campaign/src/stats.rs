//! Is an arm better than the baseline, by how much, and how sure is that? Pure, no I/O.
//!
//! The statistical unit is the round. [`round_effect`] makes one number of a round, the median over pairs
//! of `ln(arm / baseline)`; [`paired`] turns the rounds of one comparison into an estimate, an exact
//! interval at the simultaneous level of its [`Family`], a verdict, and what more rounds would bring.
//! [`Expectation`] holds the same interval against what somebody expected, and [`null_check`] judges the
//! comparisons that must show nothing: control arms and negative controls.
//!
//! Every effect in here is a natural logarithm of a ratio; [`percent_change`] is for printing. The method,
//! its sources and its simulated coverage are described in `docs/methodology.md`.

mod distribution;
mod error;
mod expectation;
mod family;
mod interval;
mod margin;
mod median;
mod paired;
mod power;
pub mod rank_sum;
mod ratio;
mod round_effect;
pub mod signed_rank;
mod verdict;

pub use distribution::Distribution;
pub use error::StatsError;
pub use expectation::{Expectation, Outcome, over_sizes};
pub use family::{Family, SPARE_ROUNDS};
pub use interval::Interval;
pub use margin::Margin;
pub use median::median_of;
pub use paired::{NoInterval, PairedResult, paired};
pub use power::{MAX_PROJECTED_ROUNDS, POWER, RoundsToSettle};
pub use ratio::percent_change;
pub use round_effect::{Pair, round_effect};
pub use verdict::{Direction, NullCheck, judge, null_check};
