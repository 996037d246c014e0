//! Plots as SVG. Their colors are CSS variables defined by the page, so every plot adapts to the light or dark color
//! scheme.

mod arm;
mod axis;
mod curves;
mod effect;
mod interaction;
mod latency;
mod palette;
mod tails;

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::prelude::{Cartesian2d, DrawingArea, DrawingAreaErrorKind, IntoDrawingArea, SVGBackend};

pub use curves::{Curve, Curves, Point, curves};
pub use effect::{Dot, EffectPlot, effects};
pub use interaction::{Interaction, interaction};
pub use latency::{LatencyCurve, LatencyPlot, latency};
pub use palette::{marker_class, shares_color};
pub use tails::{Tail, tails};

/// Error from the plotting library.
pub type DrawError = DrawingAreaErrorKind<std::io::Error>;

/// Width of every plot, in SVG units. A phone shows a plot at three quarters of this width, and a desktop shows it
/// slightly larger.
const WIDTH: u32 = 480;
/// Margin around a plot, in SVG units.
const MARGIN: u32 = 8;
/// Margin to the right of a plot whose rightmost label extends beyond its axis, in SVG units.
const LABEL_MARGIN: u32 = 30;
/// Font of the axis labels: family and size.
const FONT: (&str, i32) = ("sans-serif", 14);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<axis::Axis, axis::Axis>>;

/// Creates a chart with the axes `x` and `y`, and draws its grid. `margin_right` is the margin at the right edge, in SVG
/// units.
fn chart_with_grid<'a, 'b>(
    area: &'a Area<'b>,
    (x, y): (axis::Axis, axis::Axis),
    margin_right: u32,
) -> Result<Chart<'a, 'b>, DrawError> {
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .margin_right(margin_right)
        .x_label_area_size(34)
        .y_label_area_size(84)
        .build_cartesian_2d(x, y)?;
    grid(&mut chart)?;
    Ok(chart)
}

/// Draws the axes and the grid. Major and minor grid lines have the same color.
fn grid(chart: &mut Chart<'_, '_>) -> Result<(), DrawError> {
    chart
        .configure_mesh()
        .light_line_style(palette::GRID)
        .bold_line_style(palette::GRID)
        .axis_style(palette::TEXT)
        .label_style((FONT.0, FONT.1, &palette::TEXT))
        .draw()
}

/// Draws an SVG of height `height` with `description` as its text alternative.
fn svg(
    height: u32,
    description: &str,
    draw: impl FnOnce(&Area<'_>) -> Result<(), DrawError>,
) -> Result<String, DrawError> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        draw(&area)?;
        area.present()?;
    }
    let description = maud::html! { (description) }.into_string().replace('"', "&quot;");
    let svg = svg.replacen(
        "<svg ",
        &format!("<svg role=\"img\" aria-label=\"{description}\" "),
        1,
    );
    // An SVG element inside HTML needs no namespace declaration.
    let svg = svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
    Ok(palette::with_css_variables(&svg))
}
