//! Plot of latency by load, which is a rate or a number of workers, for every arm. Both axes are logarithmic.

use plotters::prelude::{DashedLineSeries, PathElement};
use plotters::style::Color;

use super::axis::Axis;
use super::{DrawError, LABEL_MARGIN, arm, chart_with_grid, palette, svg};

/// Latencies of one arm.
#[derive(Clone, Debug)]
pub struct LatencyCurve {
    /// Index of the arm in the plan, which determines its color and marker.
    pub arm: usize,
    /// Whether the arm is a control arm.
    pub control: bool,
    /// Loads and median latencies in nanoseconds, lowest load first.
    pub p50: Vec<(f64, f64)>,
    /// Loads and 99th percentiles of latency in nanoseconds.
    pub p99: Vec<(f64, f64)>,
    /// Highest sustained load, if it is known and within the range of the plot.
    pub knee: Option<f64>,
}

/// Content of the plot.
pub struct LatencyPlot<'a> {
    /// Text alternative for screen readers.
    pub description: &'a str,
    /// All loads, lowest first.
    pub loads: Vec<u32>,
    /// One curve for each arm.
    pub curves: Vec<LatencyCurve>,
    /// Formats a latency in nanoseconds.
    pub label: fn(f64) -> String,
}

const HEIGHT: u32 = 300;
/// Maximum number of load labels on the axis.
const MAX_LABELS: usize = 6;
/// Horizontal distance between the knees of two arms, as a fraction of the axis.
const DODGE: f64 = 0.008;
/// Dash and gap lengths of a knee's line, in SVG units.
const KNEE_DASH: (u32, u32) = (3, 3);

/// Draws the plot as SVG.
pub fn latency(plot: &LatencyPlot<'_>) -> Result<String, DrawError> {
    let latencies = plot
        .curves
        .iter()
        .flat_map(|curve| curve.p50.iter().chain(&curve.p99));
    let (bottom, top, y) = {
        let values: Vec<f64> = latencies.map(|(_, nanos)| *nanos).collect();
        let bottom = values.iter().copied().fold(f64::INFINITY, f64::min);
        let top = values.iter().copied().fold(0.0, f64::max);
        (
            bottom,
            top,
            Axis::logarithmic_around(values.into_iter(), plot.label),
        )
    };
    let first = f64::from(plot.loads.first().copied().unwrap_or(1).max(1));
    let last = f64::from(plot.loads.last().copied().unwrap_or(1).max(1));
    let ratio = (last / first).max(1.01);
    let (low, high) = (first / ratio.powf(0.05), last * ratio.powf(0.05));
    let every = plot.loads.len().div_ceil(MAX_LABELS);
    let ticks = plot.loads.iter().enumerate().map(|(index, load)| {
        let is_labeled = index % every == 0;
        let label = is_labeled.then(|| load.to_string());
        (f64::from(*load), label.unwrap_or_default())
    });
    let x = Axis::logarithmic(low, high, ticks.collect());
    svg(HEIGHT, plot.description, |area| {
        let mut chart = chart_with_grid(area, (x, y), LABEL_MARGIN)?;
        for (index, curve) in plot.curves.iter().enumerate() {
            let color = palette::arm(curve.arm, curve.control);
            let style = (curve.arm, curve.control);
            if let Some(knee) = curve.knee {
                let knee = knee * (high / low).powf(DODGE * index as f64);
                let line = [(knee, bottom), (knee, top)];
                let dashed = DashedLineSeries::new(line, KNEE_DASH.0, KNEE_DASH.1, color.stroke_width(2));
                chart.draw_series(dashed)?;
            }
            for (points, width) in [(&curve.p50, 1), (&curve.p99, 2)] {
                arm::draw_line(&mut chart, style, points.clone(), color.stroke_width(width))?;
            }
            // Discs mark the 99th percentile, and short bars the median.
            for point in &curve.p99 {
                arm::draw_marker(&mut chart, style, *point, 3, color.filled())?;
            }
            for (load, nanos) in &curve.p50 {
                let half = (high / low).powf(DODGE);
                let bar = [(load / half, *nanos), (load * half, *nanos)];
                chart.draw_series([PathElement::new(bar, color.stroke_width(3))])?;
            }
        }
        Ok(())
    })
}
