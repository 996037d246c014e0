//! Colours of the plots: stand-ins while drawing, variables of the page afterwards.

use plotters::style::RGBColor;

/// Colours for arms; the style sheet has a light and a dark set (Okabe and Ito's, which colour-blind readers tell
/// apart). A run has at most twice as many variants: the second half uses them again, with another mark and line.
const COLORS: usize = 8;

/// First byte of every stand-in: no other colour of a drawing has it.
const STAND_IN: u8 = 0xFA;

/// Axes and their labels.
pub(super) const TEXT: RGBColor = RGBColor(STAND_IN, 0xFF, 0);
/// Lines of the grid.
pub(super) const GRID: RGBColor = RGBColor(STAND_IN, 0xFF, 1);
/// What lies inside the margin.
pub(super) const BAND: RGBColor = RGBColor(STAND_IN, 0xFF, 2);
/// Control arms.
pub(super) const CONTROL: RGBColor = RGBColor(STAND_IN, 0xFF, 3);
/// The page behind the drawing.
pub(super) const PAGE: RGBColor = RGBColor(STAND_IN, 0xFF, 4);

const NAMED: [(&str, RGBColor); 5] = [
    ("--plot-text", TEXT),
    ("--plot-grid", GRID),
    ("--plot-band", BAND),
    ("--arm-control", CONTROL),
    ("--page", PAGE),
];

/// Colour of the arm in place `index`.
pub(super) fn arm(index: usize, control: bool) -> RGBColor {
    match control {
        true => CONTROL,
        false => RGBColor(STAND_IN, 0, (index % COLORS) as u8),
    }
}

/// Whether the arm in place `index` shares its colour with one before it.
pub fn is_second(index: usize, control: bool) -> bool {
    !control && index >= COLORS
}

/// Class of the legend's mark for the arm in place `index`.
pub fn mark_class(index: usize, control: bool) -> String {
    let second = if is_second(index, control) { " second" } else { "" };
    match control {
        true => "mark control".to_owned(),
        false => format!("mark arm-{}{second}", index % COLORS),
    }
}

/// `svg` with variables in place of the stand-ins.
pub(super) fn with_variables(svg: &str) -> String {
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
    fn what_shares_a_colour_has_another_mark() {
        let classes: std::collections::BTreeSet<String> =
            (0..2 * COLORS).map(|index| mark_class(index, false)).collect();
        assert_eq!(classes.len(), 2 * COLORS);
    }

    #[test]
    fn stand_ins_become_variables() {
        let svg = r##"<circle fill="#FA0003"/><text fill="#FAFF00"/><rect fill="#FFFFFF"/>"##;
        let expected =
            r##"<circle fill="var(--arm-3)"/><text fill="var(--plot-text)"/><rect fill="#FFFFFF"/>"##;
        assert_eq!(with_variables(svg), expected);
    }
}
