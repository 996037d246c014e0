//! Interaction plot: the change caused by one factor at each size, without and with another factor.

use campaign::compare::ConditionalChange;
use plotters::prelude::{Circle, LineSeries, PathElement};
use plotters::style::Color;

use super::axis::{Axis, SizeAxis};
use super::{DrawError, MARGIN, chart_with_grid, palette, svg};

/// Content of the plot.
pub struct Interaction<'a> {
    /// Text alternative for screen readers.
    pub description: &'a str,
    /// Size in bytes, and the change caused by the first factor without and with the second factor.
    pub points: Vec<(u64, [ConditionalChange; 2])>,
}

const HEIGHT: u32 = 260;
/// Greatest change to which a whisker extends the axis, in percent.
const MAX_CHANGE: f64 = 150.0;
/// Index of the arm whose color is used for the lines.
const ARM: usize = 1;
const RADIUS: i32 = 4;

/// Ends of the whisker of `change`, in percent, within the range of the axis. Without an interval, both are the change.
fn ends(change: &ConditionalChange) -> (f64, f64) {
    let (low, high) = change
        .interval_percent
        .unwrap_or((change.percent, change.percent));
    (low.max(-MAX_CHANGE), high.min(MAX_CHANGE.max(change.percent)))
}

/// Draws the plot as SVG.
pub fn interaction(plot: &Interaction<'_>) -> Result<String, DrawError> {
    let changes = plot.points.iter().flat_map(|(_, changes)| changes);
    let values = changes.flat_map(|change| {
        let (low, high) = ends(change);
        [change.percent, low, high]
    });
    let y = Axis::linear_around(values.chain([0.0]), 6, |percent| {
        format!("{percent:+.4}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
            + " %"
    });
    let SizeAxis { axis: x, low, high } = SizeAxis::new(plot.points.iter().map(|(size, _)| *size));
    svg(HEIGHT, plot.description, |area| {
        let mut chart = chart_with_grid(area, (x, y), MARGIN)?;
        chart.draw_series([PathElement::new([(low, 0.0), (high, 0.0)], palette::TEXT)])?;
        let color = palette::arm(ARM, false);
        for state in [0, 1] {
            let changes = || {
                let points = plot.points.iter();
                points.filter_map(|(size, changes)| Some((SizeAxis::position(*size), changes.get(state)?)))
            };
            let points: Vec<(f64, f64)> = changes().map(|(x, change)| (x, change.percent)).collect();
            chart.draw_series(changes().map(|(x, change)| {
                let (low, high) = ends(change);
                PathElement::new([(x, low), (x, high)], color.stroke_width(1 + state as u32))
            }))?;
            chart.draw_series(LineSeries::new(
                points.iter().copied(),
                color.stroke_width(1 + state as u32),
            ))?;
            let fill = if state == 0 { palette::PAGE } else { color };
            for point in points {
                chart.draw_series([Circle::new(point, RADIUS, fill.filled())])?;
                chart.draw_series([Circle::new(point, RADIUS, color.stroke_width(2))])?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_has_a_whisker() {
        let change = |interval_percent| ConditionalChange {
            percent: 5.0,
            interval_percent,
        };
        let draw = |interval| {
            let plot = Interaction {
                description: "",
                points: vec![(64, [change(interval), change(interval)])],
            };
            interaction(&plot).unwrap()
        };
        assert_ne!(draw(Some((-14.3, 38.0))), draw(Some((4.0, 6.0))));
        assert_ne!(draw(Some((-14.3, 38.0))), draw(None));
    }
}
