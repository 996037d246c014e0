//! A table in text: columns, or a line for each row or result if the columns do not fit.

use comfy_table::{Attribute, Cell as StyledCell, Color, ContentArrangement, LineStyle, TableStyle};
use crds::printable::printable;

use super::{INDENT, TextOptions, note, push_wrapped};
use crate::report::document::{Cell, Column, Detail, Layout, ResultClass, Row, Table};

/// Minimum width of a column with the results of an arm.
const MIN_RESULT: usize = 22;
/// Width of the columns with the size and the baseline together.
const FIXED: usize = 26;
/// Number of columns of a matrix before those of the arms: the size and the baseline.
const FIXED_COLUMNS: usize = 2;
/// Maximum length of a reason in a cell, in characters. Longer reasons become notes below the table.
const MAX_REASON_IN_CELL: usize = 100;
/// Number of spaces between two columns, and before the first one. One of them is the column separator.
const GAP: usize = 2;
/// Minimum width of a column that contains sentences.
const MIN_SENTENCE: usize = 24;
/// Replaces spaces at which a cell must not wrap. The output contains normal spaces.
const NO_BREAK_SPACE: char = '\u{a0}';

/// Table style with only a line under the header.
const PLAIN: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
/// Table style with a line under the header and light lines between rows, for rows with multi-line cells.
const RULED: TableStyle = PLAIN.row_separator(LineStyle::none().fill('╌').junction('╌'));

/// Appends the title, the table and its notes.
pub(super) fn render(text: &mut String, table: &Table, options: &TextOptions<'_>) {
    if !table.title.is_empty() {
        push_wrapped(text, INDENT, &table.title, options.width);
    }
    let columns: Vec<(usize, &Column)> = table.shown_columns(Detail::Detailed).collect();
    let rows: Vec<Vec<&Cell>> = table
        .shown_rows(Detail::Detailed)
        .map(|row| cells(row, &columns))
        .collect();
    let titles: Vec<String> = columns
        .iter()
        .map(|(_, column)| printable(&column.title).into_owned())
        .collect();
    match table.layout {
        Layout::Matrix => matrix(text, &titles, &rows, options),
        Layout::Columns | Layout::Lines => {
            let sentences: Vec<bool> = columns.iter().map(|(_, column)| column.has_sentences).collect();
            plain(text, &titles, &sentences, &rows, options);
        }
    }
    for shown in table.shown_notes(Detail::Detailed) {
        note(text, shown, options.width);
    }
}

fn cells<'a>(row: &'a Row, columns: &[(usize, &Column)]) -> Vec<&'a Cell> {
    let cells = columns.iter().filter_map(|(index, _)| row.cells.get(*index));
    cells.collect()
}

/// Appends a table whose cells do not wrap, apart from sentences; or a line for each row, if it does not fit.
fn plain(
    text: &mut String,
    titles: &[String],
    sentences: &[bool],
    rows: &[Vec<&Cell>],
    options: &TextOptions<'_>,
) {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.line()).collect())
        .collect();
    if min_width(titles, sentences, &rows) > usize::from(options.width) {
        for row in &rows {
            let pairs = titles.iter().zip(row);
            let pairs: Vec<String> = pairs.map(|(title, cell)| format!("{title} {cell}")).collect();
            push_wrapped(text, &format!("{INDENT} "), &pairs.join(", "), options.width);
        }
        return;
    }
    let mut table = new_table(options, PLAIN);
    table.set_header(titles);
    for row in &rows {
        table.add_row(row.iter().zip(sentences).map(|(cell, is_sentence)| {
            let cell = printable(cell);
            match is_sentence {
                true => cell.split_whitespace().collect::<Vec<_>>().join(" "),
                false => cell.replace(' ', &NO_BREAK_SPACE.to_string()),
            }
        }));
    }
    for column in table.column_iter_mut() {
        column.set_padding((1, 0));
    }
    push_table(text, &table);
}

/// Smallest width at which no cell wraps, except sentences.
fn min_width(titles: &[String], sentences: &[bool], rows: &[Vec<String>]) -> usize {
    let columns = titles.iter().zip(sentences).enumerate();
    let widths = columns.map(|(column, (title, is_sentence))| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let longest = cells.map(|cell| cell.chars().count()).max().unwrap_or_default();
        let longest = match is_sentence {
            true => longest.min(MIN_SENTENCE),
            false => longest,
        };
        longest.max(title.chars().count()) + GAP
    });
    INDENT.len() + widths.sum::<usize>()
}

/// Appends a matrix with a column for each arm, or with a row for each arm if the columns do not fit.
fn matrix(text: &mut String, titles: &[String], rows: &[Vec<&Cell>], options: &TextOptions<'_>) {
    let (fixed, arms) = titles.split_at(titles.len().min(FIXED_COLUMNS));
    let is_side_by_side = FIXED + arms.len() * MIN_RESULT <= usize::from(options.width);
    let mut table = new_table(options, if is_side_by_side { RULED } else { PLAIN });
    let mut notes = Notes::default();
    match is_side_by_side {
        true => {
            table.set_header(titles);
            for row in rows {
                table.add_row(row.iter().map(|cell| styled(cell, &mut notes)));
            }
        }
        false => {
            table.set_header(fixed.iter().map(String::as_str).chain(["variant", "change"]));
            for row in rows {
                let (start, results) = row.split_at(row.len().min(FIXED_COLUMNS));
                for (position, (arm, result)) in arms.iter().zip(results).enumerate() {
                    let mut cells: Vec<StyledCell> = match position {
                        0 => start.iter().map(|cell| styled(cell, &mut notes)).collect(),
                        _ => start.iter().map(|_| StyledCell::new("")).collect(),
                    };
                    cells.extend([StyledCell::new(arm), styled(result, &mut notes)]);
                    table.add_row(cells);
                }
            }
        }
    }
    push_table(text, &table);
    for (number, note) in (1..).zip(&notes.texts) {
        push_wrapped(text, &format!("{INDENT}[{number}] "), note, options.width);
    }
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

/// Creates a cell. Its text may quote a record, and a style in it would remain in the report.
fn styled(cell: &Cell, notes: &mut Notes) -> StyledCell {
    let Cell::Result(result) = cell else {
        return StyledCell::new(printable(&cell.line()));
    };
    let mut result = result.clone();
    result.change = result
        .change
        .map(|change| change.replace(' ', &NO_BREAK_SPACE.to_string()));
    result.reason = result.reason.map(|reason| notes.reason_or_reference(reason));
    let cell = StyledCell::new(printable(&result.line()));
    match result.class {
        ResultClass::Improved => cell.fg(Color::Green),
        ResultClass::Regressed | ResultClass::Invalid => cell.fg(Color::Red),
        ResultClass::Inconclusive | ResultClass::NotEngaged | ResultClass::Suspect => cell.fg(Color::Yellow),
        ResultClass::NotApplicable => cell.add_attribute(Attribute::Dim),
        ResultClass::NoChange => cell,
    }
}

/// Creates an empty table for a terminal.
fn new_table(options: &TextOptions<'_>, style: TableStyle) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(options.width.saturating_sub(INDENT.len() as u16))
        .load_style(style);
    match options.color {
        true => table.enforce_styling(),
        false => table.force_no_tty(),
    };
    table
}

/// Appends `table` as indented lines.
fn push_table(text: &mut String, table: &comfy_table::Table) {
    let line = |line: String| format!("{INDENT}{}\n", line.trim_end()).replace(NO_BREAK_SPACE, " ");
    text.extend(table.lines().map(line));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::Note;

    fn rendered(table: &Table, width: u16) -> String {
        let mut text = String::new();
        let options = TextOptions {
            width,
            ..TextOptions::default()
        };
        render(&mut text, table, &options);
        let fits = text
            .lines()
            .all(|line| line.chars().count() <= usize::from(width));
        assert!(fits, "{text}");
        text
    }

    #[test]
    fn rows_become_lines_if_the_columns_do_not_fit() {
        let table = Table {
            title: "successful calls".to_owned(),
            columns: Column::all(["test", "arm", "mean"]),
            rows: vec![Row::new([
                "small_int".to_owned(),
                "x".repeat(40),
                "12.3 us".to_owned(),
            ])],
            notes: vec![Note::new("", "A note.", Detail::Brief)],
            ..Table::default()
        };
        let wide = rendered(&table, 64);
        assert!(
            wide.contains("test ") && wide.contains("12.3 us\n  A note.\n"),
            "{wide}"
        );
        let narrow = rendered(&table, 60);
        assert!(narrow.contains("   test small_int, arm\n   xxxx"), "{narrow}");
        assert!(narrow.contains("xxxx, mean 12.3 us\n"), "{narrow}");
    }

    #[test]
    fn sentences_wrap_in_their_column() {
        let table = Table {
            title: "failed calls".to_owned(),
            columns: vec![Column::new("test"), Column::sentences("error")],
            rows: vec![Row::new(["small_int".to_owned(), "four\n".repeat(30)])],
            ..Table::default()
        };
        let text = rendered(&table, 60);
        assert!(text.contains("small_int  four four"), "{text}");
        assert!(text.lines().count() > 5, "{text}");
    }
}
