//! One figure against size for every arm, both axes logarithmic, with intervals.

use plotters::prelude::{ChartBuilder, PathElement};
use plotters::style::Color;

use super::axis::Axis;
use super::{DrawError, arm, grid, palette, picture};

/// A figure at a size.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Size in bytes.
    pub size: u64,
    /// The figure.
    pub value: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
}

/// The figures of one arm.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Place of the arm: its colour.
    pub arm: usize,
    /// Whether it is a control arm.
    pub control: bool,
    /// Its points, by size.
    pub points: Vec<Point>,
}

/// What the plot shows.
pub struct Curves<'a> {
    /// What it says to those who do not see it.
    pub about: &'a str,
    /// Sizes in bytes with their names.
    pub sizes: Vec<(u64, String)>,
    /// The arms.
    pub curves: Vec<Curve>,
    /// Name of a figure.
    pub label: fn(f64) -> String,
}

const HEIGHT: u32 = 300;
/// Sizes named on the axis before every other one is left out.
const MAX_NAMES: usize = 8;
/// Part of the axis by which the arms at one size stand apart.
const DODGE: f64 = 0.012;

/// Draws them.
pub fn curves(plot: &Curves<'_>) -> Result<String, DrawError> {
    let all = || plot.curves.iter().flat_map(|curve| &curve.points);
    let values = all().flat_map(|point| {
        let (low, high) = point.interval.unwrap_or((point.value, point.value));
        [low, point.value, high]
    });
    let y = Axis::around(values, plot.label);
    let position = |size: u64| size.max(1) as f64;
    let smallest = plot
        .sizes
        .iter()
        .map(|(size, _)| position(*size))
        .fold(f64::INFINITY, f64::min);
    let largest = plot
        .sizes
        .iter()
        .map(|(size, _)| position(*size))
        .fold(1.0, f64::max);
    let span = (largest / smallest).max(2.0);
    let (low, high) = (smallest / span.powf(0.06), largest * span.powf(0.06));
    let every = plot.sizes.len().div_ceil(MAX_NAMES);
    let names = plot.sizes.iter().enumerate().map(|(place, (size, name))| {
        let name = if place % every == 0 {
            name.clone()
        } else {
            String::new()
        };
        (position(*size), name)
    });
    let x = Axis::logarithmic(low, high, names.collect());
    let middle = (plot.curves.len() as f64 - 1.0) / 2.0;
    picture(HEIGHT, plot.about, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(34)
            .y_label_area_size(84)
            .build_cartesian_2d(x, y)?;
        grid(&mut chart)?;
        for (place, curve) in plot.curves.iter().enumerate() {
            let color = palette::arm(curve.arm, curve.control);
            let dodge = (high / low).powf(DODGE * (place as f64 - middle));
            let at = |point: &Point| position(point.size) * dodge;
            let own = (curve.arm, curve.control);
            let line = curve.points.iter().map(|point| (at(point), point.value));
            arm::line(&mut chart, own, line.collect(), color.mix(0.6).stroke_width(1))?;
            for point in &curve.points {
                if let Some((low, high)) = point.interval {
                    let whisker = [(at(point), low), (at(point), high)];
                    chart.draw_series([PathElement::new(whisker, color.stroke_width(2))])?;
                }
                arm::mark(&mut chart, own, (at(point), point.value), 3, color.filled())?;
            }
        }
        Ok(())
    })
}
