//! The equivalence margin.

use snafu::ensure;

use super::error::{MarginSnafu, StatsError};
use super::ratio::log_ratio_of_increase;

/// The equivalence margin: the largest change that is considered no change, symmetric on the log scale.
///
/// A margin of 2 percent spans the ratios from 1/1.02 to 1.02, printed as -1.96 to +2 percent. It is symmetric as a
/// ratio rather than in percent, so that swapping arm and baseline mirrors every verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margin {
    log_ratio: f64,
}

impl Margin {
    /// Creates a margin that extends `percent` above the baseline and the inverse ratio below it. With a margin of
    /// zero, any interval that excludes zero shows a change, and only the interval `[0, 0]` shows equivalence.
    pub fn from_percent(percent: f64) -> Result<Margin, StatsError> {
        ensure!(percent.is_finite() && percent >= 0.0, MarginSnafu { percent });
        Ok(Margin {
            log_ratio: log_ratio_of_increase(percent),
        })
    }

    /// Natural logarithm of the upper edge; the lower edge is its negative.
    pub fn log_ratio(&self) -> f64 {
        self.log_ratio
    }
}
