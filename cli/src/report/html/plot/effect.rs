//! Plot of every arm's change at every size: dots with whiskers for the intervals, and a band for the margin.

use plotters::coord::ranged1d::Ranged;
use plotters::prelude::{ChartBuilder, EmptyElement, PathElement, Rectangle};
use plotters::style::Color;

use super::axis::Axis;
use super::{DrawError, FONT, arm, palette, svg};

/// Change of one arm at one size, in percent.
#[derive(Clone, Debug)]
pub struct Dot {
    /// Index of the row, starting at 0. Each size is a row.
    pub row: usize,
    /// Index of the arm in the plan, which determines its color and marker.
    pub arm: usize,
    /// Whether the arm is a control arm.
    pub control: bool,
    /// Whether the comparison has a verdict. Dots without a verdict are hollow.
    pub has_verdict: bool,
    /// Estimated change in percent.
    pub percent: f64,
    /// Lower and upper bounds of the confidence interval, in percent.
    pub interval: Option<(f64, f64)>,
    /// Change of each round in percent, drawn as dots.
    pub rounds: Vec<f64>,
}

/// Content of the plot.
#[derive(Clone, Debug)]
pub struct EffectPlot<'a> {
    /// Text alternative for screen readers.
    pub description: &'a str,
    /// Row labels, from top to bottom.
    pub rows: Vec<String>,
    /// Indexes of the arms shown, in their order within a row.
    pub arms: Vec<usize>,
    /// One dot for each arm and size.
    pub dots: Vec<Dot>,
    /// Lower and upper bounds of the margin, in percent.
    pub margin: (f64, f64),
}

/// Vertical distance between neighboring arms in a row, in SVG units.
const DOT_DISTANCE: u32 = 11;
/// Maximum change that the axis covers, in percent. Longer whiskers end at the edge of the plot with a mark, and rounds
/// with larger changes are drawn at the edge.
const MAX_CHANGE: f64 = 150.0;

/// Mark at the edge of the plot for a change or an end of an interval beyond it, in SVG units from the edge. It points to
/// the right.
const CHEVRON: [(i32, i32); 3] = [(-9, -5), (-3, 0), (-9, 5)];

/// Draws the plot as SVG.
pub fn effects(plot: &EffectPlot<'_>) -> Result<String, DrawError> {
    let rows = plot.rows.len();
    let slots = plot.arms.len().max(1);
    let height = (rows * (slots + 1)) as u32 * DOT_DISTANCE + 76;
    let ends = plot.dots.iter().flat_map(|dot| {
        let (low, high) = dot.interval.unwrap_or((dot.percent, dot.percent));
        let rounds = dot
            .rounds
            .iter()
            .map(|change| change.clamp(-MAX_CHANGE, MAX_CHANGE));
        [low, high, dot.percent]
            .map(|change| change.clamp(-MAX_CHANGE, MAX_CHANGE))
            .into_iter()
            .chain(rounds)
    });
    let x = Axis::linear_around(
        ends.chain([plot.margin.0 * 1.5, plot.margin.1 * 1.5]),
        7,
        |percent| {
            format!("{percent:+.3}")
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
                + " %"
        },
    );
    let shown = x.range();
    let labels = plot
        .rows
        .iter()
        .enumerate()
        .map(|(row, label)| (row as f64 + 0.5, label.clone()));
    // Rows are numbered from top to bottom, but axis values increase from bottom to top.
    let ticks = labels.map(|(row, label)| (rows as f64 - row, label));
    let y = Axis::linear(0.0, rows as f64, ticks.collect());
    let height_of = |dot: &Dot| {
        let slot = plot
            .arms
            .iter()
            .position(|arm| *arm == dot.arm)
            .unwrap_or_default();
        rows as f64 - dot.row as f64 - (slot as f64 + 1.0) / (slots as f64 + 1.0)
    };
    svg(height, plot.description, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(46)
            .y_label_area_size(72)
            .build_cartesian_2d(x, y)?;
        let band = [(plot.margin.0, 0.0), (plot.margin.1, rows as f64)];
        chart.draw_series([Rectangle::new(band, palette::BAND.filled())])?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .light_line_style(palette::GRID)
            .bold_line_style(palette::GRID)
            .axis_style(palette::TEXT)
            .label_style((FONT.0, FONT.1, &palette::TEXT))
            .x_desc("change from the baseline")
            .draw()?;
        for row in 1..rows {
            let line = [(-MAX_CHANGE * 10.0, row as f64), (MAX_CHANGE * 10.0, row as f64)];
            chart.draw_series([PathElement::new(line, palette::GRID)])?;
        }
        let zero = [(0.0, 0.0), (0.0, rows as f64)];
        chart.draw_series([PathElement::new(zero, palette::TEXT)])?;
        for dot in &plot.dots {
            let (color, y) = (palette::arm(dot.arm, dot.control), height_of(dot));
            let rounds = dot.rounds.iter().map(|change| (*change, y));
            arm::draw_rounds(&mut chart, (dot.arm, dot.control), rounds)?;
            if let Some((low, high)) = dot.interval {
                chart.draw_series([PathElement::new([(low, y), (high, y)], color.stroke_width(2))])?;
            }
            let fill = if dot.has_verdict { color } else { palette::PAGE };
            for style in [fill.filled(), color.stroke_width(2)] {
                arm::draw_marker(&mut chart, (dot.arm, dot.control), (dot.percent, y), 4, style)?;
            }
            let (low, high) = dot.interval.unwrap_or((dot.percent, dot.percent));
            let beyond = [(low.min(dot.percent), -1), (high.max(dot.percent), 1)];
            for (change, side) in beyond.into_iter().filter(|(change, _)| !shown.contains(change)) {
                let chevron = CHEVRON.map(|(x, y)| (x * side, y));
                let mark = PathElement::new(chevron, color.stroke_width(2));
                chart.draw_series([EmptyElement::at((change, y)) + mark])?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of lines in the plot of a single change of +5 % with this interval.
    fn lines(interval: (f64, f64)) -> usize {
        let plot = EffectPlot {
            description: "",
            rows: vec!["64 B".to_owned()],
            arms: vec![1],
            dots: vec![Dot {
                row: 0,
                arm: 1,
                control: false,
                has_verdict: false,
                percent: 5.0,
                interval: Some(interval),
                rounds: Vec::new(),
            }],
            margin: (-2.0, 2.0),
        };
        effects(&plot).unwrap().matches("<polyline").count()
    }

    #[test]
    fn ends_beyond_the_plot_are_marked() {
        assert_eq!(lines((-20.0, 900.0)), lines((-20.0, MAX_CHANGE)) + 1);
        assert_eq!(lines((-20.0, 900.0)), lines((-20.0, 2000.0)));
    }
}
