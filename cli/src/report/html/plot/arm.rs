//! An arm's line and marker in the plots. An arm that shares its color with an earlier arm has a square marker and a
//! dashed line.

use plotters::element::{Circle, EmptyElement, Rectangle};
use plotters::prelude::{DashedLineSeries, LineSeries};
use plotters::style::{Color, ShapeStyle};

use super::{Chart, DrawError, palette};

/// Dash and gap lengths, in SVG units.
const DASH: (u32, u32) = (6, 4);
/// Radius of a round's dot, in SVG units.
const ROUND_RADIUS: i32 = 2;
/// Opacity of a round's dot. Dots are translucent, so that overlapping dots remain distinguishable.
const ROUND_OPACITY: f64 = 0.35;

/// Draws the line of `arm`.
pub(super) fn draw_line(
    chart: &mut Chart<'_, '_>,
    (arm, control): (usize, bool),
    points: Vec<(f64, f64)>,
    style: ShapeStyle,
) -> Result<(), DrawError> {
    match palette::shares_color(arm, control) {
        true => chart.draw_series(DashedLineSeries::new(points, DASH.0, DASH.1, style))?,
        false => chart.draw_series(LineSeries::new(points, style))?,
    };
    Ok(())
}

/// Draws the marker of `arm` at `position`: a square if it shares its color with an earlier arm, otherwise a disc.
pub(super) fn draw_marker(
    chart: &mut Chart<'_, '_>,
    (arm, control): (usize, bool),
    position: (f64, f64),
    radius: i32,
    style: ShapeStyle,
) -> Result<(), DrawError> {
    match palette::shares_color(arm, control) {
        true => {
            let square = Rectangle::new([(-radius, -radius), (radius, radius)], style);
            chart.draw_series([EmptyElement::at(position) + square])?
        }
        false => chart.draw_series([Circle::new(position, radius, style)])?,
    };
    Ok(())
}

/// Draws a small dot at the position of each round.
pub(super) fn draw_rounds(
    chart: &mut Chart<'_, '_>,
    (arm, control): (usize, bool),
    positions: impl Iterator<Item = (f64, f64)>,
) -> Result<(), DrawError> {
    let style = palette::arm(arm, control).mix(ROUND_OPACITY).filled();
    chart.draw_series(positions.map(|position| Circle::new(position, ROUND_RADIUS, style)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use campaign::format;
    use campaign::stats::Distribution;
    use crds::histogram::Histogram;

    use super::super::{Curve, Curves, Point, Tail, curves, tails};

    #[test]
    fn arms_with_the_same_color_differ_in_marker_and_line() {
        let point = |size: u64| Point {
            size,
            value: size as f64,
            interval: None,
            rounds: Vec::new(),
        };
        let curve = |arm: usize| {
            let plot = Curves {
                description: "",
                sizes: vec![64, 4096],
                curves: vec![Curve {
                    arm,
                    control: false,
                    points: [64, 4096].map(point).into(),
                }],
                upper_bound: None,
                label: format::nanos,
            };
            curves(&plot).unwrap()
        };
        assert_ne!(curve(1), curve(9));
        assert!(curve(9).contains("var(--arm-1)"));
        let mut samples = Histogram::new();
        (1..1000).for_each(|nanos| samples.record(nanos));
        let latency = Distribution::from(&samples);
        let tail = |arm: usize| {
            let tail = Tail {
                arm,
                control: false,
                latency: &latency,
                call: None,
            };
            tails("", &[tail]).unwrap().unwrap()
        };
        assert_ne!(tail(1), tail(9));
    }
}
