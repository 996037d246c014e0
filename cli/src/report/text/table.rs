//! Verdicts of one scenario: one column for each variant, or one row for each variant if the columns do not fit.

use campaign::format;
use campaign::plan::PlannedScenario;
use comfy_table::{Attribute, Cell, Color, ContentArrangement, LineStyle, Table, TableStyle};
use crds::printable::printable;

use super::push_wrapped;
use crate::report::Report;
use crate::report::comparison::{BaselineText, ComparisonText, ResultClass};

/// Minimum width of a column that contains comparisons.
const MIN_COLUMN: usize = 22;
/// Width of the size and baseline columns together.
const FIXED: usize = 26;
/// Indentation of every line.
pub(super) const INDENT: &str = "  ";
/// Maximum length of a reason in a cell, in characters. Longer reasons become notes below the table.
const MAX_REASON_IN_CELL: usize = 100;
/// Replaces spaces at which a cell must not wrap. The output contains normal spaces.
pub(super) const NO_BREAK_SPACE: char = '\u{a0}';

/// Table style with only a line under the header.
pub(super) const PLAIN: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
/// Table style with a line under the header and light lines between rows, for rows with multi-line cells.
const RULED: TableStyle = PLAIN.row_separator(LineStyle::none().fill('╌').junction('╌'));

pub(super) fn render(report: &Report<'_>, index: usize, width: u16, color: bool) -> String {
    let Some(scenario) = report.plan.scenarios.get(index) else {
        return String::new();
    };
    let variants: Vec<usize> = report.variants().map(|(index, _)| index).collect();
    let mut table = new_table(width, color);
    let side_by_side = FIXED + variants.len() * MIN_COLUMN <= usize::from(width);
    table.load_style(if side_by_side { RULED } else { PLAIN });
    let mut notes = Notes::default();
    match side_by_side {
        true => columns(&mut table, report, index, scenario, &variants, &mut notes),
        false => rows(&mut table, report, index, scenario, &variants, &mut notes),
    }
    let mut text = table_text(&table);
    for (number, note) in (1..).zip(&notes.texts) {
        push_wrapped(&mut text, &format!("{INDENT}[{number}] "), note, width);
    }
    text
}

/// Creates an empty table for a terminal with `width` columns.
pub(super) fn new_table(width: u16, color: bool) -> Table {
    let mut table = Table::new();
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.saturating_sub(INDENT.len() as u16));
    if color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table
}

/// Renders `table` as indented lines.
pub(super) fn table_text(table: &Table) -> String {
    let line = |line: String| format!("{INDENT}{}\n", line.trim_end()).replace(NO_BREAK_SPACE, " ");
    table.lines().map(line).collect()
}

/// Reasons that are too long for a cell. Each appears once below the table.
#[derive(Default)]
struct Notes {
    texts: Vec<String>,
}

impl Notes {
    /// Returns the reason, or a reference to its note.
    fn reason_or_reference(&mut self, reason: String) -> String {
        if reason.chars().count() <= MAX_REASON_IN_CELL {
            return reason;
        }
        let known = self.texts.iter().position(|text| *text == reason);
        let index = known.unwrap_or_else(|| {
            self.texts.push(reason);
            self.texts.len() - 1
        });
        format!("see [{}]", index + 1)
    }
}

fn columns(
    table: &mut Table,
    report: &Report<'_>,
    index: usize,
    scenario: &PlannedScenario,
    variants: &[usize],
    notes: &mut Notes,
) {
    let headers = variants.iter().map(|arm| name(report, *arm));
    table.set_header(
        ["size".to_owned(), name(report, report.plan.baseline)]
            .into_iter()
            .chain(headers),
    );
    for size in &scenario.sizes {
        let row = [
            text_cell(&format::size(*size)),
            baseline(report, index, scenario, *size, notes),
        ];
        let cells = variants
            .iter()
            .map(|arm| cell(comparison_text(report, index, scenario, *size, *arm), notes));
        table.add_row(row.into_iter().chain(cells));
    }
}

fn rows(
    table: &mut Table,
    report: &Report<'_>,
    index: usize,
    scenario: &PlannedScenario,
    variants: &[usize],
    notes: &mut Notes,
) {
    table.set_header(["size", &name(report, report.plan.baseline), "variant", "change"]);
    for size in &scenario.sizes {
        for (position, arm) in variants.iter().enumerate() {
            let (size_cell, baseline) = match position {
                0 => (
                    text_cell(&format::size(*size)),
                    baseline(report, index, scenario, *size, notes),
                ),
                _ => (Cell::new(""), Cell::new("")),
            };
            let result = cell(comparison_text(report, index, scenario, *size, *arm), notes);
            table.add_row([size_cell, baseline, Cell::new(name(report, *arm)), result]);
        }
    }
}

/// Creates a cell with text that may quote a record. A style in it would remain in the report.
fn text_cell(text: &str) -> Cell {
    Cell::new(printable(text))
}

fn name(report: &Report<'_>, arm: usize) -> String {
    report
        .plan
        .arms
        .get(arm)
        .map(|arm| printable(&arm.name).into_owned())
        .unwrap_or_default()
}

fn baseline(
    report: &Report<'_>,
    index: usize,
    scenario: &PlannedScenario,
    size: u64,
    notes: &mut Notes,
) -> Cell {
    match BaselineText::new(report, index, scenario, size) {
        BaselineText::Invalid(reason) => {
            let reason = notes.reason_or_reference(reason);
            text_cell(&BaselineText::Invalid(reason).line()).fg(Color::Red)
        }
        measured @ BaselineText::Measured(_) => text_cell(&measured.line()),
        unknown @ (BaselineText::BelowResolution | BaselineText::NotMeasured) => {
            text_cell(&unknown.line()).add_attribute(Attribute::Dim)
        }
    }
}

fn comparison_text(
    report: &Report<'_>,
    index: usize,
    scenario: &PlannedScenario,
    size: u64,
    arm: usize,
) -> Option<ComparisonText> {
    let comparisons = &report.evaluation.comparisons;
    comparisons
        .find(index, size, arm, scenario.primary)
        .map(|comparison| ComparisonText::with_emulation_mark(report, comparison))
}

fn cell(text: Option<ComparisonText>, notes: &mut Notes) -> Cell {
    let Some(mut text) = text else {
        return Cell::new("not compared");
    };
    text.change = text
        .change
        .map(|change| change.replace(' ', &NO_BREAK_SPACE.to_string()));
    text.reason = text.reason.map(|reason| notes.reason_or_reference(reason));
    let cell = text_cell(&text.line());
    match text.class {
        ResultClass::Improved => cell.fg(Color::Green),
        ResultClass::Regressed | ResultClass::Invalid => cell.fg(Color::Red),
        ResultClass::Inconclusive | ResultClass::NotEngaged | ResultClass::Suspect => cell.fg(Color::Yellow),
        ResultClass::NotApplicable => cell.add_attribute(Attribute::Dim),
        ResultClass::NoChange => cell,
    }
}
