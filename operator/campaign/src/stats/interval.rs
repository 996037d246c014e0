//! An estimated effect with its interval.

/// An effect and the interval around it, as natural logarithms of ratios arm over baseline.
///
/// `lower <= estimate <= upper`. The interval is closed: both ends belong to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Hodges-Lehmann estimate of the effect.
    pub estimate: f64,
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// Probability that an interval made this way misses the effect, both sides together. At most the
    /// level that was asked for, and below it because the method's levels are discrete.
    pub level: f64,
}

impl Interval {
    /// Half the distance between the ends.
    pub fn half_width(&self) -> f64 {
        (self.upper - self.lower) / 2.0
    }

    /// The interval of the inverse ratio: baseline over arm.
    pub fn inverse(&self) -> Interval {
        Interval {
            estimate: -self.estimate,
            lower: -self.upper,
            upper: -self.lower,
            level: self.level,
        }
    }
}
