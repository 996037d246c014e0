//! Summarizes a metric's values, one per round.

use serde::Serialize;

use crate::stats::{median_of, signed_rank};

/// Two-sided error level of the interval in a [`RoundSummary`]. The interval is only descriptive: verdicts use the
/// level of their family.
pub const POINT_LEVEL: f64 = 0.05;

/// Summary of the values of all rounds, in the unit of their metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoundSummary {
    /// Number of rounds.
    pub rounds: usize,
    /// Median of the rounds.
    pub median: f64,
    /// Smallest value of a round.
    pub min: f64,
    /// Largest value of a round.
    pub max: f64,
    /// Lower end of the signed-rank interval at [`POINT_LEVEL`], computed from the logarithms of the values; `None` if
    /// there are too few rounds.
    pub lower: Option<f64>,
    /// Upper end of the signed-rank interval.
    pub upper: Option<f64>,
    /// Round and value, ascending by round.
    pub values: Vec<(u32, f64)>,
}

impl RoundSummary {
    /// Summarizes `values`, which are pairs of a round and a value above zero. Returns `None` if `values` is empty.
    pub fn from_rounds(values: Vec<(u32, f64)>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        let median = median_of(&mut sorted)?;
        let logs: Vec<f64> = sorted.iter().map(|value| value.ln()).collect();
        let finite = logs.iter().all(|log| log.is_finite());
        let interval = finite
            .then(|| signed_rank::interval(&logs, POINT_LEVEL))
            .flatten();
        Some(Self {
            rounds: values.len(),
            median,
            min: *sorted.first()?,
            max: *sorted.last()?,
            lower: interval.map(|interval| interval.lower.exp()),
            upper: interval.map(|interval| interval.upper.exp()),
            values,
        })
    }

    /// The summary of the values divided by `divisor`, which must be above 0.
    #[must_use]
    pub fn divided_by(&self, divisor: f64) -> Self {
        let divided = |value: f64| value / divisor;
        Self {
            rounds: self.rounds,
            median: divided(self.median),
            min: divided(self.min),
            max: divided(self.max),
            lower: self.lower.map(divided),
            upper: self.upper.map(divided),
            values: self
                .values
                .iter()
                .map(|(round, value)| (*round, divided(*value)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_exists_for_six_rounds_but_not_for_five() {
        let values = |count: u32| {
            (1..=count)
                .map(|round| (round, 100.0 + f64::from(round)))
                .collect()
        };
        let five = RoundSummary::from_rounds(values(5)).unwrap();
        assert_eq!(
            (five.median, five.min, five.max, five.lower),
            (103.0, 101.0, 105.0, None)
        );
        let six = RoundSummary::from_rounds(values(6)).unwrap();
        assert_eq!(six.median, 103.5);
        assert!(six.lower.is_some_and(|lower| (101.0..103.5).contains(&lower)));
        assert_eq!(RoundSummary::from_rounds(Vec::new()), None);
    }
}
