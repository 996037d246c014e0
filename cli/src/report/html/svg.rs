//! Plots as SVG. Their colors are CSS variables of the page, so every plot adapts to the light or dark color scheme.

use maud::{Markup, html};

use crate::report::plot::{Color, Mark, Plot, PlotArm, Shape};

/// Width of every plot, in SVG units. A phone shows a plot at three quarters of this width, and a desktop shows it
/// slightly larger.
const WIDTH: u32 = 480;
/// Space to the left of the axes, for labels.
const LEFT: f64 = 88.0;
/// Space to the right of the axes. The rightmost label extends beyond its axis.
const RIGHT: f64 = 30.0;
/// Space above the axes.
const TOP: f64 = 10.0;
/// Space below the axes, for labels.
const BOTTOM: f64 = 28.0;
/// Additional space for the title of the horizontal axis.
const TITLE: f64 = 20.0;
/// Size of the labels.
const FONT: &str = "13";
/// Mark at the edge of the plot for something beyond it: offsets from the edge. It points to the right.
const CHEVRON: [(f64, f64); 3] = [(-9.0, -5.0), (-3.0, 0.0), (-9.0, 5.0)];

/// Draws `plot`. Elements have end tags, because an HTML parser would put the following elements into elements without.
pub(super) fn render(plot: &Plot) -> Markup {
    let frame = Frame::new(plot);
    let Frame { right, bottom, .. } = frame;
    html! {
        svg role="img" aria-label=(plot.description) viewBox=(format!("0 0 {WIDTH} {}", plot.height))
            font-family="sans-serif" font-size=(FONT) {
            @for (tick, label) in plot.x.ticks() {
                @let x = frame.x(*tick);
                (line(Color::Grid, (x, TOP), (x, bottom)))
                (text((x, bottom + 17.0), "middle", label))
            }
            @for (tick, label) in plot.y.ticks() {
                @let y = frame.y(*tick);
                @if plot.has_rows { (line(Color::Grid, (LEFT, y), (right, y))) }
                (text((LEFT - 6.0, y + 4.5), "end", label))
            }
            @if !plot.x_title.is_empty() {
                (text(((LEFT + right) / 2.0, bottom + 36.0), "middle", plot.x_title))
            }
            @for mark in &plot.marks { (frame.mark(mark)) }
            (line(Color::Text, (LEFT, bottom), (right, bottom)))
            (line(Color::Text, (LEFT, TOP), (LEFT, bottom)))
        }
    }
}

/// CSS classes of the legend marker of `arm`.
pub(super) fn marker_class(arm: PlotArm) -> String {
    let second = if arm.shares_color() { " second" } else { "" };
    match arm.color() {
        Color::Arm(index) => format!("mark arm-{index}{second}"),
        _ => "mark control".to_owned(),
    }
}

/// Area of the marks.
struct Frame<'a> {
    plot: &'a Plot,
    right: f64,
    bottom: f64,
}

impl<'a> Frame<'a> {
    fn new(plot: &'a Plot) -> Self {
        let title = if plot.x_title.is_empty() { 0.0 } else { TITLE };
        Self {
            plot,
            right: f64::from(WIDTH) - RIGHT,
            bottom: f64::from(plot.height) - BOTTOM - title,
        }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.plot.x.position(value) * (self.right - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - self.plot.y.position(value) * (self.bottom - TOP)
    }

    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x(x), self.y(y))
    }

    fn mark(&self, mark: &Mark) -> Markup {
        match &mark.shape {
            Shape::Line {
                points,
                width,
                opacity,
                dash,
            } => {
                let points: Vec<(f64, f64)> = points.iter().map(|point| self.at(*point)).collect();
                let dash = dash.map(|(dash, gap)| format!("{dash} {gap}"));
                polyline(mark.color, &points, *width, *opacity, dash)
            }
            Shape::Area(from, to) => {
                let ((left, bottom), (right, top)) = (self.at(*from), self.at(*to));
                html! {
                    rect x=(number(left)) y=(number(top)) width=(number(right - left)) height=(number(bottom - top))
                        fill=(variable(mark.color)) {}
                }
            }
            Shape::Dot {
                at,
                radius,
                fill: (fill, opacity),
                outline,
                is_square,
            } => {
                let ((x, y), radius) = (self.at(*at), f64::from(*radius));
                let opacity = (*opacity < 1.0).then(|| opacity.to_string());
                let stroke = (*outline > 0).then(|| variable(mark.color));
                let width = (*outline > 0).then(|| outline.to_string());
                html! {
                    @if *is_square {
                        rect x=(number(x - radius)) y=(number(y - radius)) width=(2.0 * radius) height=(2.0 * radius)
                            fill=(variable(*fill)) opacity=[opacity] stroke=[stroke] stroke-width=[width] {}
                    } @else {
                        circle cx=(number(x)) cy=(number(y)) r=(radius)
                            fill=(variable(*fill)) opacity=[opacity] stroke=[stroke] stroke-width=[width] {}
                    }
                }
            }
            Shape::Beyond(at, is_right) => {
                let (x, y) = self.at(*at);
                let side = if *is_right { 1.0 } else { -1.0 };
                let chevron = CHEVRON.map(|(dx, dy)| (x + dx * side, y + dy));
                polyline(mark.color, &chevron, 2, 1.0, None)
            }
        }
    }
}

fn polyline(color: Color, points: &[(f64, f64)], width: u32, opacity: f64, dash: Option<String>) -> Markup {
    let points = points
        .iter()
        .map(|(x, y)| format!("{},{}", number(*x), number(*y)));
    let points = points.collect::<Vec<_>>().join(" ");
    let opacity = (opacity < 1.0).then(|| opacity.to_string());
    html! {
        polyline points=(points) fill="none" stroke=(variable(color)) stroke-width=(width) stroke-opacity=[opacity]
            stroke-dasharray=[dash] {}
    }
}

fn line(color: Color, from: (f64, f64), to: (f64, f64)) -> Markup {
    html! {
        line x1=(number(from.0)) y1=(number(from.1)) x2=(number(to.0)) y2=(number(to.1)) stroke=(variable(color)) {}
    }
}

fn text((x, y): (f64, f64), anchor: &str, text: &str) -> Markup {
    html! {
        @if !text.is_empty() {
            text x=(number(x)) y=(number(y)) text-anchor=(anchor) fill=(variable(Color::Text)) { (text) }
        }
    }
}

/// Formats a coordinate with a tenth of a unit.
fn number(value: f64) -> String {
    format!("{value:.1}")
}

fn variable(color: Color) -> String {
    match color {
        Color::Text => "var(--plot-text)".to_owned(),
        Color::Grid => "var(--plot-grid)".to_owned(),
        Color::Band => "var(--plot-band)".to_owned(),
        Color::Page => "var(--page)".to_owned(),
        Color::Control => "var(--arm-control)".to_owned(),
        Color::Arm(index) => format!("var(--arm-{index})"),
    }
}
