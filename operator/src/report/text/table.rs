//! The verdicts of one scenario: a column for each variant, or a row where these do not fit side by side.

use comfy_table::{Attribute, Cell, Color, ContentArrangement, LineStyle, Table, TableStyle};

use super::wrapped;
use crate::campaign::format;
use crate::campaign::plan::PlannedScenario;
use crate::report::Report;
use crate::report::words::{self, Answer, Baseline, Tone};

/// Narrowest column in which an answer can be read.
const MIN_COLUMN: usize = 22;
/// Columns taken by the size and the baseline.
const FIXED: usize = 26;
const INDENT: &str = "  ";
/// A reason above so many characters makes a table hard to read.
const LONGEST_IN_CELL: usize = 100;
/// Stands for a space at which no cell is wrapped; a space again in the output.
const UNBROKEN: char = '\u{a0}';

/// A line under the header only.
const PLAIN: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
/// And a light one between rows, whose cells run over several lines.
const RULED: TableStyle = PLAIN.row_separator(LineStyle::none().fill('╌').junction('╌'));

pub(super) fn render(report: &Report<'_>, index: usize, width: u16, color: bool) -> String {
    let Some(scenario) = report.plan.scenarios.get(index) else {
        return String::new();
    };
    let variants: Vec<usize> = report.variants().map(|(index, _)| index).collect();
    let mut table = Table::new();
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.saturating_sub(INDENT.len() as u16));
    if color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let side_by_side = FIXED + variants.len() * MIN_COLUMN <= usize::from(width);
    table.load_style(if side_by_side { RULED } else { PLAIN });
    let mut notes = Notes::default();
    match side_by_side {
        true => columns(&mut table, report, index, scenario, &variants, &mut notes),
        false => rows(&mut table, report, index, scenario, &variants, &mut notes),
    }
    let line = |line: String| format!("{INDENT}{}\n", line.trim_end()).replace(UNBROKEN, " ");
    let mut text: String = table.lines().map(line).collect();
    for (number, note) in (1..).zip(&notes.texts) {
        wrapped(&mut text, &format!("{INDENT}[{number}] "), note, width);
    }
    text
}

/// Reasons too long for a cell, each told once under the table.
#[derive(Default)]
struct Notes {
    texts: Vec<String>,
}

impl Notes {
    /// The reason, or where it is told.
    fn place(&mut self, reason: String) -> String {
        if reason.chars().count() <= LONGEST_IN_CELL {
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
    let heads = variants.iter().map(|arm| name(report, *arm));
    table.set_header(
        ["size".to_owned(), name(report, report.plan.baseline)]
            .into_iter()
            .chain(heads),
    );
    for size in &scenario.sizes {
        let row = [
            Cell::new(format::size(*size)),
            baseline(report, index, scenario, *size, notes),
        ];
        let answers = variants
            .iter()
            .map(|arm| cell(answer(report, index, scenario, *size, *arm), notes));
        table.add_row(row.into_iter().chain(answers));
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
        for (place, arm) in variants.iter().enumerate() {
            let (size_cell, baseline) = match place {
                0 => (
                    Cell::new(format::size(*size)),
                    baseline(report, index, scenario, *size, notes),
                ),
                _ => (Cell::new(""), Cell::new("")),
            };
            let answer = cell(answer(report, index, scenario, *size, *arm), notes);
            table.add_row([size_cell, baseline, Cell::new(name(report, *arm)), answer]);
        }
    }
}

fn name(report: &Report<'_>, arm: usize) -> String {
    report
        .plan
        .arms
        .get(arm)
        .map(|arm| arm.name.clone())
        .unwrap_or_default()
}

fn baseline(
    report: &Report<'_>,
    index: usize,
    scenario: &PlannedScenario,
    size: u64,
    notes: &mut Notes,
) -> Cell {
    match words::baseline(report, index, scenario, size) {
        Baseline::Invalid(reason) => Cell::new(Baseline::Invalid(notes.place(reason)).line()).fg(Color::Red),
        measured @ Baseline::Measured(_) => Cell::new(measured.line()),
        Baseline::NotYet => Cell::new(Baseline::NotYet.line()).add_attribute(Attribute::Dim),
    }
}

fn answer(
    report: &Report<'_>,
    index: usize,
    scenario: &PlannedScenario,
    size: u64,
    arm: usize,
) -> Option<Answer> {
    let comparisons = &report.evaluation.comparisons;
    comparisons
        .find(index, size, arm, scenario.primary)
        .map(words::answer)
}

fn cell(answer: Option<Answer>, notes: &mut Notes) -> Cell {
    let Some(mut answer) = answer else {
        return Cell::new("not compared");
    };
    answer.change = answer
        .change
        .map(|change| change.replace(' ', &UNBROKEN.to_string()));
    answer.reason = answer.reason.map(|reason| notes.place(reason));
    let cell = Cell::new(answer.line());
    match answer.tone {
        Tone::Better => cell.fg(Color::Green),
        Tone::Worse | Tone::Invalid => cell.fg(Color::Red),
        Tone::Open | Tone::NotEngaged => cell.fg(Color::Yellow),
        Tone::NotApplicable => cell.add_attribute(Attribute::Dim),
        Tone::Same => cell,
    }
}
