//! Plot of one metric by size for every arm, with intervals. Both axes are logarithmic.

use plotters::prelude::PathElement;
use plotters::style::Color;

use super::axis::{Axis, SizeAxis};
use super::{DrawError, MARGIN, arm, chart_with_grid, palette, svg};

/// Value of the metric at one size.
#[derive(Clone, Debug)]
pub struct Point {
    /// Size in bytes.
    pub size: u64,
    /// Value of the metric.
    pub value: f64,
    /// Lower and upper ends of the whisker: the confidence interval, or the range over all rounds if there are too few
    /// rounds for an interval.
    pub interval: Option<(f64, f64)>,
    /// Value of each round, drawn as dots.
    pub rounds: Vec<f64>,
}

/// Curve of one arm.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Index of the arm in the plan, which determines its color and marker.
    pub arm: usize,
    /// Whether the arm is a control arm.
    pub control: bool,
    /// Points in order of size.
    pub points: Vec<Point>,
}

/// Content of the plot.
pub struct Curves<'a> {
    /// Text alternative for screen readers.
    pub description: &'a str,
    /// Sizes in bytes.
    pub sizes: Vec<u64>,
    /// One curve for each arm.
    pub curves: Vec<Curve>,
    /// Upper bound on the metric, drawn as a horizontal line.
    pub upper_bound: Option<f64>,
    /// Formats a value of the metric.
    pub label: fn(f64) -> String,
}

const HEIGHT: u32 = 300;
/// Horizontal distance between the arms at one size, as a fraction of the axis.
const DODGE: f64 = 0.012;

/// Draws the plot as SVG.
pub fn curves(plot: &Curves<'_>) -> Result<String, DrawError> {
    let points = || plot.curves.iter().flat_map(|curve| &curve.points);
    let values = points().flat_map(|point| {
        let (low, high) = point.interval.unwrap_or((point.value, point.value));
        [low, point.value, high]
            .into_iter()
            .chain(point.rounds.iter().copied())
    });
    let y = Axis::logarithmic_around(values.chain(plot.upper_bound), plot.label);
    let SizeAxis { axis: x, low, high } = SizeAxis::new(plot.sizes.iter().copied());
    let middle = (plot.curves.len() as f64 - 1.0) / 2.0;
    svg(HEIGHT, plot.description, |area| {
        let mut chart = chart_with_grid(area, (x, y), MARGIN)?;
        if let Some(bound) = plot.upper_bound {
            let line = [(low, bound), (high, bound)];
            chart.draw_series([PathElement::new(line, palette::TEXT.stroke_width(2))])?;
        }
        for (index, curve) in plot.curves.iter().enumerate() {
            let color = palette::arm(curve.arm, curve.control);
            let dodge = (high / low).powf(DODGE * (index as f64 - middle));
            let at = |point: &Point| SizeAxis::position(point.size) * dodge;
            let style = (curve.arm, curve.control);
            let line = curve.points.iter().map(|point| (at(point), point.value));
            arm::draw_line(&mut chart, style, line.collect(), color.mix(0.6).stroke_width(1))?;
            for point in &curve.points {
                let rounds = point.rounds.iter().map(|value| (at(point), *value));
                arm::draw_rounds(&mut chart, style, rounds)?;
            }
            for point in &curve.points {
                if let Some((low, high)) = point.interval {
                    let whisker = [(at(point), low), (at(point), high)];
                    chart.draw_series([PathElement::new(whisker, color.stroke_width(2))])?;
                }
                arm::draw_marker(&mut chart, style, (at(point), point.value), 3, color.filled())?;
            }
        }
        Ok(())
    })
}
