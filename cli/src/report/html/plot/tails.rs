//! Plot of the latency tail: quantiles from the median to the 99.99th percentile, on an axis that is logarithmic in the
//! exceedance probability.

use campaign::format;
use campaign::stats::Distribution;
use plotters::style::Color;

use super::axis::Axis;
use super::{DrawError, LABEL_MARGIN, arm, chart_with_grid, palette, svg};

/// Latency distribution of one arm.
#[derive(Clone, Debug)]
pub struct Tail<'a> {
    /// Index of the arm in the plan, which determines its color and marker.
    pub arm: usize,
    /// Whether the arm is a control arm.
    pub control: bool,
    /// Latencies in nanoseconds.
    pub latency: &'a Distribution,
}

const HEIGHT: u32 = 260;
/// Number of points in a curve.
const POINTS: u32 = 80;

/// Draws the plot as SVG with `description` as its text alternative.
pub fn tails(description: &str, tails: &[Tail<'_>]) -> Result<String, DrawError> {
    // The axis counts nines: 99 % is at 2, 99.9 % at 3 and the median at 0.3.
    let median = 0.5_f64.log10().abs();
    let labels = ["90 %", "99 %", "99.9 %", "99.99 %"];
    let nines = labels
        .iter()
        .enumerate()
        .map(|(index, label)| (index as f64 + 1.0, (*label).to_owned()));
    let ticks = std::iter::once((median, "50 %".to_owned()))
        .chain(nines)
        .collect();
    let x = Axis::linear(median, 4.0, ticks);
    let curve = |latency: &Distribution| -> Vec<(f64, f64)> {
        let points = (0..=POINTS).map(|step| median + (4.0 - median) * f64::from(step) / f64::from(POINTS));
        // Quantiles beyond the last sample would only repeat the maximum.
        let observed = points.filter(|nines| 10f64.powf(*nines) <= latency.count() as f64 * 1.0001);
        observed
            .filter_map(|nines| {
                let nanos = latency.quantile(1.0 - 10f64.powf(-nines))?;
                Some((nines, nanos as f64))
            })
            .collect()
    };
    let curves: Vec<_> = tails.iter().map(|tail| (tail, curve(tail.latency))).collect();
    let y = Axis::logarithmic_around(
        curves.iter().flat_map(|(_, points)| points).map(|point| point.1),
        format::nanos,
    );
    svg(HEIGHT, description, |area| {
        let mut chart = chart_with_grid(area, (x, y), LABEL_MARGIN)?;
        for (tail, points) in curves {
            let color = palette::arm(tail.arm, tail.control);
            arm::draw_line(
                &mut chart,
                (tail.arm, tail.control),
                points,
                color.stroke_width(2),
            )?;
        }
        Ok(())
    })
}
