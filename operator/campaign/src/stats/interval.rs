//! An estimated effect with its interval.

use super::percent_change;

/// An effect and the interval around it, as natural logarithms of the ratio of arm to baseline.
///
/// `lower <= estimate <= upper`. The interval is closed: both bounds belong to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Hodges-Lehmann estimate of the effect.
    pub estimate: f64,
    /// Lower bound.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
    /// Probability that an interval computed this way misses the effect on either side. It is at most the requested
    /// level, and usually below it because the achievable levels are discrete.
    pub level: f64,
}

impl Interval {
    /// Half the distance between the bounds.
    pub fn half_width(&self) -> f64 {
        (self.upper - self.lower) / 2.0
    }

    /// Greater distance of a bound from zero.
    pub fn reach(&self) -> f64 {
        self.lower.abs().max(self.upper.abs())
    }

    /// Lower and upper bound, as percentage changes from the baseline.
    pub fn percent(&self) -> (f64, f64) {
        (percent_change(self.lower), percent_change(self.upper))
    }

    /// The interval of the inverse ratio, baseline over arm.
    pub fn inverse(&self) -> Interval {
        Interval {
            estimate: -self.estimate,
            lower: -self.upper,
            upper: -self.lower,
            level: self.level,
        }
    }
}
