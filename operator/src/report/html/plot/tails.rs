//! The tail of latency: quantiles from the median to 99.99 percent, the rarer the wider.

use plotters::prelude::ChartBuilder;
use plotters::style::Color;

use super::axis::Axis;
use super::{DrawError, arm, grid, palette, picture};
use crate::campaign::format;
use crate::campaign::stats::Distribution;

/// Latencies of one arm.
#[derive(Clone, Debug)]
pub struct Tail<'a> {
    /// Place of the arm: its colour.
    pub arm: usize,
    /// Whether it is a control arm.
    pub control: bool,
    /// Its latencies in nanoseconds.
    pub latency: &'a Distribution,
}

const HEIGHT: u32 = 260;
/// Points of a curve.
const POINTS: u32 = 80;

/// Draws them; `about` is what the plot says to those who do not see it.
pub fn tails(about: &str, tails: &[Tail<'_>]) -> Result<String, DrawError> {
    // Nines: 99 % is 2, 99.9 % is 3. The median has 0.3.
    let median = 0.5_f64.log10().abs();
    let labels = ["90 %", "99 %", "99.9 %", "99.99 %"];
    let nines = labels
        .iter()
        .enumerate()
        .map(|(place, label)| (place as f64 + 1.0, (*label).to_owned()));
    let keys = std::iter::once((median, "50 %".to_owned()))
        .chain(nines)
        .collect();
    let x = Axis::linear(median, 4.0, keys);
    let curve = |latency: &Distribution| -> Vec<(f64, f64)> {
        let points = (0..=POINTS).map(|step| median + (4.0 - median) * f64::from(step) / f64::from(POINTS));
        // A quantile rarer than one of all samples is only their maximum again.
        let seen = points.filter(|nines| 10f64.powf(*nines) <= latency.count() as f64 * 1.0001);
        seen.filter_map(|nines| {
            let nanos = latency.quantile(1.0 - 10f64.powf(-nines))?;
            Some((nines, nanos as f64))
        })
        .collect()
    };
    let drawn: Vec<_> = tails.iter().map(|tail| (tail, curve(tail.latency))).collect();
    let y = Axis::around(
        drawn.iter().flat_map(|(_, points)| points).map(|point| point.1),
        format::nanos,
    );
    picture(HEIGHT, about, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(30)
            .x_label_area_size(34)
            .y_label_area_size(84)
            .build_cartesian_2d(x, y)?;
        grid(&mut chart)?;
        for (tail, points) in drawn {
            let color = palette::arm(tail.arm, tail.control);
            arm::line(
                &mut chart,
                (tail.arm, tail.control),
                points,
                color.stroke_width(2),
            )?;
        }
        Ok(())
    })
}
