//! Plot colors: placeholders used while drawing, which are then replaced with the page's CSS variables.

use plotters::style::RGBColor;

/// Number of arm colors. The style sheet has a light and a dark set, both from the Okabe-Ito palette, which color-blind
/// readers can distinguish. A run has at most twice as many variants as colors; the second half reuses the colors with
/// a different marker and line style.
const COLORS: usize = 8;

/// Red channel of every placeholder. No other color in a plot has this value.
const PLACEHOLDER: u8 = 0xFA;

/// Axes and their labels.
pub(super) const TEXT: RGBColor = RGBColor(PLACEHOLDER, 0xFF, 0);
/// Grid lines.
pub(super) const GRID: RGBColor = RGBColor(PLACEHOLDER, 0xFF, 1);
/// Shaded band that marks the margin.
pub(super) const BAND: RGBColor = RGBColor(PLACEHOLDER, 0xFF, 2);
/// Control arms.
pub(super) const CONTROL: RGBColor = RGBColor(PLACEHOLDER, 0xFF, 3);
/// Page background.
pub(super) const PAGE: RGBColor = RGBColor(PLACEHOLDER, 0xFF, 4);

const NAMED: [(&str, RGBColor); 5] = [
    ("--plot-text", TEXT),
    ("--plot-grid", GRID),
    ("--plot-band", BAND),
    ("--arm-control", CONTROL),
    ("--page", PAGE),
];

/// Color of the arm with index `index`.
pub(super) fn arm(index: usize, control: bool) -> RGBColor {
    match control {
        true => CONTROL,
        false => RGBColor(PLACEHOLDER, 0, (index % COLORS) as u8),
    }
}

/// Whether the arm with index `index` shares its color with an earlier arm.
pub fn shares_color(index: usize, control: bool) -> bool {
    !control && index >= COLORS
}

/// CSS classes of the legend marker for the arm with index `index`.
pub fn marker_class(index: usize, control: bool) -> String {
    let second = if shares_color(index, control) {
        " second"
    } else {
        ""
    };
    match control {
        true => "mark control".to_owned(),
        false => format!("mark arm-{}{second}", index % COLORS),
    }
}

/// Replaces the placeholders in `svg` with CSS variables.
pub(super) fn with_css_variables(svg: &str) -> String {
    let hex = |color: RGBColor| format!("\"#{:02X}{:02X}{:02X}\"", color.0, color.1, color.2);
    let mut text = svg.to_owned();
    for (name, color) in NAMED {
        text = text.replace(&hex(color), &format!("\"var({name})\""));
    }
    for index in 0..COLORS {
        text = text.replace(&hex(arm(index, false)), &format!("\"var(--arm-{index})\""));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_with_the_same_color_have_different_markers() {
        let classes: std::collections::BTreeSet<String> =
            (0..2 * COLORS).map(|index| marker_class(index, false)).collect();
        assert_eq!(classes.len(), 2 * COLORS);
    }

    #[test]
    fn replaces_placeholders_with_css_variables() {
        let svg = r##"<circle fill="#FA0003"/><text fill="#FAFF00"/><rect fill="#FFFFFF"/>"##;
        let expected =
            r##"<circle fill="var(--arm-3)"/><text fill="var(--plot-text)"/><rect fill="#FFFFFF"/>"##;
        assert_eq!(with_css_variables(svg), expected);
    }
}
