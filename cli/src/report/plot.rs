//! A plot, independent of how it is drawn: two axes, and marks in their coordinates.

mod axis;

pub(super) use axis::{Axis, SizeAxis};

/// Number of arm colors. The style sheet has a light and a dark set, both from the Okabe-Ito palette, which color-blind
/// readers can distinguish. A run has at most twice as many variants as colors; the second half reuses the colors with
/// a different marker and line style.
pub(super) const COLORS: usize = 8;
/// Dash and gap lengths of the line of an arm that shares its color, in units of the plot.
const DASH: (u32, u32) = (6, 4);
/// Opacity of a round's dot. Dots are translucent, so that overlapping dots remain distinguishable.
const ROUND_OPACITY: f64 = 0.35;
/// Radius of a round's dot.
const ROUND_RADIUS: u32 = 2;

/// A plot.
#[derive(Debug)]
pub struct Plot {
    /// Text alternative for screen readers.
    pub description: String,
    /// Explanation for all readers.
    pub caption: String,
    /// Height in units of the plot. The width is the same for all plots.
    pub height: u32,
    /// Horizontal axis.
    pub x: Axis,
    /// Title of the horizontal axis; may be empty.
    pub x_title: &'static str,
    /// Vertical axis.
    pub y: Axis,
    /// Whether the ticks of the vertical axis have grid lines.
    pub has_rows: bool,
    /// Marks, from back to front.
    pub marks: Vec<Mark>,
}

/// A mark.
#[derive(Debug)]
pub struct Mark {
    /// Color.
    pub color: Color,
    /// Shape.
    pub shape: Shape,
}

/// Color of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Axes and their labels.
    Text,
    /// Lines of the grid.
    Grid,
    /// Area of the margin.
    Band,
    /// Background.
    Page,
    /// Control arms.
    Control,
    /// Arms whose index has this remainder.
    Arm(usize),
}

/// Shape of a mark. Positions are values of the two axes, lengths are in units of the plot.
#[derive(Debug)]
pub enum Shape {
    /// Line through these positions.
    Line {
        /// The positions.
        points: Vec<(f64, f64)>,
        /// Width.
        width: u32,
        /// Opacity.
        opacity: f64,
        /// Lengths of dashes and gaps; `None` for a solid line.
        dash: Option<(u32, u32)>,
    },
    /// Disc or square.
    Dot {
        /// Position of the center.
        at: (f64, f64),
        /// Radius, or half the side.
        radius: u32,
        /// Color and opacity of the interior.
        fill: (Color, f64),
        /// Width of the outline, 0 for none.
        outline: u32,
        /// Whether the shape is a square.
        is_square: bool,
    },
    /// Rectangle between two opposite corners.
    Area((f64, f64), (f64, f64)),
    /// Mark at the edge for something beyond it, on the right side if true.
    Beyond((f64, f64), bool),
}

/// An arm of a plot, which determines the color and the marker.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlotArm {
    /// Index of the arm in the plan.
    pub index: usize,
    /// Whether the arm is a control arm.
    pub is_control: bool,
}

impl PlotArm {
    /// Color of the arm.
    pub(super) fn color(self) -> Color {
        match self.is_control {
            true => Color::Control,
            false => Color::Arm(self.index % COLORS),
        }
    }

    /// Whether the arm shares its color with an earlier arm. Its markers are then squares, and its lines dashed.
    pub(super) fn shares_color(self) -> bool {
        !self.is_control && self.index >= COLORS
    }

    /// The line of the arm through `points`.
    pub(super) fn line(self, points: Vec<(f64, f64)>, width: u32, opacity: f64) -> Mark {
        let shape = Shape::Line {
            points,
            width,
            opacity,
            dash: self.shares_color().then_some(DASH),
        };
        self.mark(shape)
    }

    /// A solid line of the arm's color, such as an interval.
    pub(super) fn whisker(self, from: (f64, f64), to: (f64, f64), width: u32) -> Mark {
        Mark::line(self.color(), vec![from, to], width)
    }

    /// The marker of the arm, filled with its color.
    pub(super) fn marker(self, at: (f64, f64), radius: u32) -> Mark {
        self.dot(at, radius, (self.color(), 1.0), 0)
    }

    /// The marker of the arm with an outline, filled with its color or hollow.
    pub(super) fn outlined_marker(self, at: (f64, f64), radius: u32, is_filled: bool) -> Mark {
        let fill = if is_filled { self.color() } else { Color::Page };
        self.dot(at, radius, (fill, 1.0), 2)
    }

    /// A small dot for the value of a round.
    pub(super) fn round(self, at: (f64, f64)) -> Mark {
        let shape = Shape::Dot {
            at,
            radius: ROUND_RADIUS,
            fill: (self.color(), ROUND_OPACITY),
            outline: 0,
            is_square: false,
        };
        self.mark(shape)
    }

    fn dot(self, at: (f64, f64), radius: u32, fill: (Color, f64), outline: u32) -> Mark {
        self.mark(Shape::Dot {
            at,
            radius,
            fill,
            outline,
            is_square: self.shares_color(),
        })
    }

    /// A mark of the arm's color.
    pub(super) fn mark(self, shape: Shape) -> Mark {
        Mark {
            color: self.color(),
            shape,
        }
    }
}

impl Mark {
    /// A solid line.
    pub fn line(color: Color, points: Vec<(f64, f64)>, width: u32) -> Self {
        let shape = Shape::Line {
            points,
            width,
            opacity: 1.0,
            dash: None,
        };
        Self { color, shape }
    }
}

/// Formats a change in percent for an axis, without trailing zeros.
pub(super) fn percent_label(percent: f64) -> String {
    let text = format!("{percent:+.4}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn arms_with_the_same_color_differ_in_marker_and_line() {
        let looks = (0..2 * COLORS).map(|index| {
            let arm = PlotArm {
                index,
                is_control: false,
            };
            let Shape::Dot { is_square, .. } = arm.marker((0.0, 0.0), 3).shape else {
                panic!("a marker is a dot");
            };
            let Shape::Line { dash, .. } = arm.line(Vec::new(), 1, 1.0).shape else {
                panic!("a line is a line");
            };
            assert_eq!(dash.is_some(), is_square);
            format!("{:?} {is_square}", arm.color())
        });
        assert_eq!(looks.collect::<BTreeSet<_>>().len(), 2 * COLORS);
    }
}
