//! The shift between the rounds of two runs, with the resolution of printed values. Performs no I/O.

use std::collections::BTreeMap;

use crds::v1alpha1::Metric;

use crate::stats::{BoundedValue, Interval, Resolution, two_samples};
use crate::summarize::CellSummary;

/// Logarithms of the values or ratios of the rounds of one run, as printed, and their bounds. All have the same order.
pub(super) struct LogValues {
    printed: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

/// The shift between the rounds of two runs.
pub(super) struct Shift {
    /// The interval, which includes the resolution of printed values.
    pub(super) interval: Interval,
    /// The interval of the values as printed.
    pub(super) printed: Interval,
    /// Bounds of the shift without noise: the estimates from the bounds of the rounds.
    pub(super) resolution: Resolution,
}

impl LogValues {
    /// Logarithms of the ratio of `own` to `baseline` in each round, or of the values of `own` without a baseline.
    pub(super) fn new(own: &CellSummary, baseline: Option<&CellSummary>, metric: Metric) -> Self {
        let own = values_by_round(own, metric);
        let pairs: Vec<(BoundedValue, BoundedValue)> = match baseline {
            None => own
                .values()
                .map(|value| (*value, BoundedValue::exact(1.0)))
                .collect(),
            Some(baseline) => {
                let baseline = values_by_round(baseline, metric);
                let pair = |(round, value): (&u32, &BoundedValue)| Some((*value, *baseline.get(round)?));
                own.iter().filter_map(pair).collect()
            }
        };
        let logs = |select: fn(&(BoundedValue, BoundedValue)) -> f64| pairs.iter().map(select).collect();
        Self {
            printed: logs(|(own, baseline)| own.value.ln() - baseline.value.ln()),
            lower: logs(|(own, baseline)| own.least.ln() - baseline.most.ln()),
            upper: logs(|(own, baseline)| own.most.ln() - baseline.least.ln()),
        }
    }

    /// Number of rounds.
    pub(super) fn count(&self) -> usize {
        self.printed.len()
    }

    fn is_exact(&self) -> bool {
        self.lower == self.printed && self.upper == self.printed
    }
}

impl Shift {
    /// The shift from `first` to `second` at the two-sided `level`; `None` if the samples are too small or too large.
    ///
    /// The rank-sum interval never decreases if a value of the second run increases or one of the first decreases, so
    /// its bounds follow from the bounds of the values. Welch's interval, which is approximate, is computed from the
    /// same values.
    pub(super) fn new(first: &LogValues, second: &LogValues, level: f64) -> Option<Self> {
        let printed = two_samples::interval(&first.printed, &second.printed, level)?;
        if first.is_exact() && second.is_exact() {
            return Some(Self {
                interval: printed,
                resolution: Resolution::of_exact(printed.estimate),
                printed,
            });
        }
        let lower = two_samples::interval(&first.upper, &second.lower, level)?;
        let upper = two_samples::interval(&first.lower, &second.upper, level)?;
        Some(Self {
            interval: Interval {
                lower: lower.lower,
                upper: upper.upper,
                ..printed
            },
            resolution: Resolution {
                lower: lower.estimate,
                upper: upper.estimate,
            },
            printed,
        })
    }
}

/// Value of each round with a value above the resolution of its tool, with its bounds.
fn values_by_round(cell: &CellSummary, metric: Metric) -> BTreeMap<u32, BoundedValue> {
    let ranges = cell.printed_ranges.get(&metric);
    let values = cell.metric(metric).map_or(&[][..], |summary| &summary.values);
    let bounded = values.iter().map(|(round, value)| {
        let range = ranges.and_then(|ranges| ranges.get(round));
        let (least, most) = range.copied().unwrap_or((*value, *value));
        let value = BoundedValue {
            value: *value,
            least,
            most,
        };
        (*round, value)
    });
    bounded
        .filter(|(_, value)| !value.is_below_resolution())
        .collect()
}
