//! The change of every variant at every size with its interval: dots and whiskers, the margin as a band.

use plotters::prelude::{ChartBuilder, PathElement, Rectangle};
use plotters::style::Color;

use super::axis::Axis;
use super::{DrawError, FONT, arm, palette, picture};

/// Change of one arm at one size, in percent.
#[derive(Clone, Copy, Debug)]
pub struct Dot {
    /// Row, from 0: the size.
    pub row: usize,
    /// Place of the arm: its colour.
    pub arm: usize,
    /// Whether it is a control arm.
    pub control: bool,
    /// Whether it carries a verdict; others are drawn hollow.
    pub judged: bool,
    /// The estimate.
    pub percent: f64,
    /// The interval.
    pub interval: Option<(f64, f64)>,
}

/// What the plot shows.
#[derive(Clone, Debug)]
pub struct EffectPlot<'a> {
    /// What it says to those who do not see it.
    pub about: &'a str,
    /// Names of the rows, from above.
    pub rows: Vec<String>,
    /// Arms that are shown, in the order in which they stand in a row.
    pub arms: Vec<usize>,
    /// The dots.
    pub dots: Vec<Dot>,
    /// Lower and upper edge of the margin.
    pub margin: (f64, f64),
}

/// Distance between two dots of a row.
const DOT_DISTANCE: u32 = 11;
/// Widest change that the axis covers; whiskers beyond it end at its edge.
const WIDEST: f64 = 150.0;

/// Draws it.
pub fn effects(plot: &EffectPlot<'_>) -> Result<String, DrawError> {
    let rows = plot.rows.len();
    let lanes = plot.arms.len().max(1);
    let height = (rows * (lanes + 1)) as u32 * DOT_DISTANCE + 76;
    let ends = plot.dots.iter().flat_map(|dot| {
        let (low, high) = dot.interval.unwrap_or((dot.percent, dot.percent));
        [low.max(-WIDEST), high.min(WIDEST), dot.percent]
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
    let names = plot
        .rows
        .iter()
        .enumerate()
        .map(|(row, name)| (row as f64 + 0.5, name.clone()));
    // Rows go downwards, the axis upwards.
    let flipped = names.map(|(row, name)| (rows as f64 - row, name));
    let y = Axis::linear(0.0, rows as f64, flipped.collect());
    let place = |dot: &Dot| {
        let lane = plot
            .arms
            .iter()
            .position(|arm| *arm == dot.arm)
            .unwrap_or_default();
        rows as f64 - dot.row as f64 - (lane as f64 + 1.0) / (lanes as f64 + 1.0)
    };
    picture(height, plot.about, |area| {
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
            .x_desc("change against the baseline")
            .draw()?;
        for row in 1..rows {
            let line = [(-WIDEST * 10.0, row as f64), (WIDEST * 10.0, row as f64)];
            chart.draw_series([PathElement::new(line, palette::GRID)])?;
        }
        let zero = [(0.0, 0.0), (0.0, rows as f64)];
        chart.draw_series([PathElement::new(zero, palette::TEXT)])?;
        for dot in &plot.dots {
            let (color, y) = (palette::arm(dot.arm, dot.control), place(dot));
            if let Some((low, high)) = dot.interval {
                chart.draw_series([PathElement::new([(low, y), (high, y)], color.stroke_width(2))])?;
            }
            let fill = if dot.judged { color } else { palette::PAGE };
            for style in [fill.filled(), color.stroke_width(2)] {
                arm::mark(&mut chart, (dot.arm, dot.control), (dot.percent, y), 4, style)?;
            }
        }
        Ok(())
    })
}
