//! Plots as SVG. Colours are variables of the page's style, so that one drawing fits light and dark.

mod arm;
mod axis;
mod curves;
mod effect;
mod palette;
mod tails;

use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::prelude::{Cartesian2d, DrawingArea, DrawingAreaErrorKind, IntoDrawingArea, SVGBackend};

pub use curves::{Curve, Curves, Point, curves};
pub use effect::{Dot, EffectPlot, effects};
pub use palette::{is_second, mark_class};
pub use tails::{Tail, tails};

/// What the plotting library refuses.
pub type DrawError = DrawingAreaErrorKind<std::io::Error>;

/// Width of every plot, in its own units. A phone shows it at three quarters of that, a desktop a little larger.
const WIDTH: u32 = 480;
/// Font of axes.
const FONT: (&str, i32) = ("sans-serif", 14);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<axis::Axis, axis::Axis>>;

/// Draws the axes and a grid in one shade for both.
fn grid(chart: &mut Chart<'_, '_>) -> Result<(), DrawError> {
    chart
        .configure_mesh()
        .light_line_style(palette::GRID)
        .bold_line_style(palette::GRID)
        .axis_style(palette::TEXT)
        .label_style((FONT.0, FONT.1, &palette::TEXT))
        .draw()
}

/// Draws into a picture `height` high; `about` is what it says to those who do not see it.
fn picture(
    height: u32,
    about: &str,
    draw: impl FnOnce(&Area<'_>) -> Result<(), DrawError>,
) -> Result<String, DrawError> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        draw(&area)?;
        area.present()?;
    }
    let about = maud::html! { (about) }.into_string().replace('"', "&quot;");
    let svg = svg.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{about}\" "), 1);
    // Within HTML the element needs no namespace.
    let svg = svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
    Ok(palette::with_variables(&svg))
}
