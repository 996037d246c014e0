//! Linear or logarithmic axis with explicit tick positions, such as scenario sizes, table rows or round values.

use campaign::format;

/// An axis from `low` to `high` with labeled ticks.
#[derive(Clone, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    ticks: Vec<(f64, String)>,
}

/// Logarithmic axis for a scenario's sizes.
pub(crate) struct SizeAxis {
    /// Underlying axis.
    pub axis: Axis,
    /// Position of the axis's lower end.
    pub low: f64,
    /// Position of the axis's upper end.
    pub high: f64,
}

/// Maximum number of labels on a size axis.
const MAX_SIZE_LABELS: usize = 8;

impl SizeAxis {
    /// Creates an axis for `sizes` in bytes.
    pub(crate) fn new(sizes: impl Iterator<Item = u64>) -> Self {
        let sizes: Vec<u64> = sizes.collect();
        let positions = || sizes.iter().map(|size| Self::position(*size));
        let (smallest, largest) = range(positions()).unwrap_or((1.0, 1.0));
        let ratio = (largest / smallest).max(2.0);
        let (low, high) = (smallest / ratio.powf(0.06), largest * ratio.powf(0.06));
        let every = sizes.len().div_ceil(MAX_SIZE_LABELS).max(1);
        let ticks = sizes.iter().enumerate().map(|(index, size)| {
            let is_labeled = index % every == 0;
            let label = is_labeled.then(|| format::size(*size));
            (Self::position(*size), label.unwrap_or_default())
        });
        Self {
            axis: Axis::logarithmic(low, high, ticks.collect()),
            low,
            high,
        }
    }

    /// Position of `size` on the axis.
    pub(crate) fn position(size: u64) -> f64 {
        size.max(1) as f64
    }
}

impl Axis {
    /// Creates a linear axis.
    pub fn linear(low: f64, high: f64, ticks: Vec<(f64, String)>) -> Self {
        Self {
            low,
            high: if high > low { high } else { low + 1.0 },
            logarithmic: false,
            ticks,
        }
    }

    /// Creates a logarithmic axis. `low` and `high` must be positive.
    pub fn logarithmic(low: f64, high: f64, ticks: Vec<(f64, String)>) -> Self {
        let low = low.max(f64::MIN_POSITIVE);
        Self {
            low,
            high: if high > low { high } else { low * 10.0 },
            logarithmic: true,
            ticks,
        }
    }

    /// Creates a logarithmic axis that contains the positive `values`, with ticks at round values.
    pub fn logarithmic_around(values: impl Iterator<Item = f64>, label: impl Fn(f64) -> String) -> Self {
        let (low, high) = range(values.filter(|value| *value > 0.0)).unwrap_or((1.0, 10.0));
        let (low, high) = (low / 1.15, high * 1.15);
        let mut ticks = Vec::new();
        let steps: &[f64] = if high / low < 2000.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        for exponent in (low.log10().floor() as i32)..=(high.log10().ceil() as i32) {
            for step in steps {
                let tick = step * 10f64.powi(exponent);
                if (low..=high).contains(&tick) {
                    ticks.push((tick, label(tick)));
                }
            }
        }
        if ticks.len() < 3 {
            ticks = round_values(low, high, 5)
                .map(|tick| (tick, label(tick)))
                .collect();
        }
        Self::logarithmic(low, high, ticks)
    }

    /// Creates a linear axis that contains `values`, with about `count` ticks.
    pub fn linear_around(
        values: impl Iterator<Item = f64>,
        count: usize,
        label: impl Fn(f64) -> String,
    ) -> Self {
        let (low, high) = range(values).unwrap_or((-1.0, 1.0));
        let pad = (high - low).max(1e-9) * 0.06;
        let (low, high) = (low - pad, high + pad);
        let ticks = round_values(low, high, count);
        Self::linear(low, high, ticks.map(|tick| (tick, label(tick))).collect())
    }

    /// Ticks with their labels, which may be empty.
    pub fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }

    /// Whether `value` is within the axis.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..self.high).contains(&value)
    }

    /// Position of `value` from 0 at the lower end to 1 at the upper end. Values outside are at the nearest end.
    pub fn position(&self, value: f64) -> f64 {
        let scale = |value: f64| {
            if self.logarithmic {
                value.max(f64::MIN_POSITIVE).ln()
            } else {
                value
            }
        };
        let fraction = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low));
        fraction.clamp(0.0, 1.0)
    }
}

/// Returns about `count` round values from `low` to `high`.
fn round_values(low: f64, high: f64, count: usize) -> impl Iterator<Item = f64> {
    let rough = (high - low) / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let factors = [1.0, 2.0, 5.0];
    let step = factors
        .iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough);
    let step = step.unwrap_or(power * 10.0);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(move |index| index as f64 * step)
}

/// Minimum and maximum of the finite `values`.
fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|value| value.is_finite())
        .map(|value| (value, value))
        .reduce(|(low, high), (value, _)| (low.min(value), high.max(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_ticks_at_round_values() {
        let axis = Axis::logarithmic_around([900.0, 4300.0].into_iter(), |value| value.to_string());
        let ticks: Vec<f64> = axis.ticks.iter().map(|(tick, _)| *tick).collect();
        assert_eq!(ticks, [1000.0, 2000.0, 3000.0, 4000.0]);
        let axis = Axis::linear_around([-14.0, 3.0].into_iter(), 5, |value| value.to_string());
        let ticks: Vec<f64> = axis.ticks.iter().map(|(tick, _)| *tick).collect();
        assert_eq!(ticks, [-15.0, -10.0, -5.0, 0.0]);
    }

    #[test]
    fn clamps_values_outside_the_range() {
        let axis = Axis::logarithmic(1.0, 100.0, Vec::new());
        assert_eq!(axis.position(10.0), 0.5);
        assert_eq!(axis.position(0.0), 0.0);
        assert_eq!(axis.position(1e9), 1.0);
    }
}
