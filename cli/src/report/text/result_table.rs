//! A [`ResultTable`] in the text report: columns, or a line for each row if the columns do not fit.

use crds::printable::printable;

use super::push_wrapped;
use super::table::{INDENT, NO_BREAK_SPACE, PLAIN, new_table, table_text};
use crate::report::result_table::ResultTable;

/// Number of spaces between two columns, and before the first one. One of them is the column separator.
const GAP: usize = 2;
/// Minimum width of a table column that contains sentences.
const MIN_SENTENCE: usize = 30;

/// Appends the title, the table and its notes.
pub(super) fn render(text: &mut String, result: &ResultTable, width: u16, color: bool) {
    push_wrapped(text, INDENT, &result.title, width);
    if min_width(result) <= usize::from(width) {
        let mut table = new_table(width, color);
        table.load_style(PLAIN).set_header(&result.columns);
        for row in &result.rows {
            table.add_row(row.iter().enumerate().map(|(column, cell)| {
                let cell = printable(cell);
                let is_sentence = result.ends_with_sentences && column + 1 == row.len();
                match is_sentence {
                    true => cell.split_whitespace().collect::<Vec<_>>().join(" "),
                    false => cell.replace(' ', &NO_BREAK_SPACE.to_string()),
                }
            }));
        }
        for column in table.column_iter_mut() {
            column.set_padding((1, 0));
        }
        text.push_str(&table_text(&table));
    } else {
        for row in &result.rows {
            let pairs = result.columns.iter().zip(row);
            let pairs: Vec<String> = pairs.map(|(column, cell)| format!("{column} {cell}")).collect();
            push_wrapped(text, &format!("{INDENT} "), &pairs.join(", "), width);
        }
    }
    for note in &result.notes {
        push_wrapped(text, INDENT, note, width);
    }
}

/// Smallest width at which no cell wraps, except in a column with sentences.
fn min_width(result: &ResultTable) -> usize {
    let columns = result.columns.iter().enumerate().map(|(column, title)| {
        let cells = result.rows.iter().filter_map(|row| row.get(column));
        let longest = cells.map(|cell| cell.chars().count()).max().unwrap_or_default();
        let longest = match result.ends_with_sentences && column + 1 == result.columns.len() {
            true => longest.min(MIN_SENTENCE),
            false => longest,
        };
        longest.max(title.chars().count()) + GAP
    });
    INDENT.len() + columns.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(result: &ResultTable, width: u16) -> String {
        let mut text = String::new();
        render(&mut text, result, width, false);
        assert!(
            text.lines()
                .all(|line| line.chars().count() <= usize::from(width)),
            "{text}"
        );
        text
    }

    #[test]
    fn rows_become_lines_if_the_columns_do_not_fit() {
        let result = ResultTable {
            title: "successful calls".to_owned(),
            columns: vec!["test", "arm", "mean"],
            rows: vec![vec!["small_int".to_owned(), "x".repeat(40), "12.3 us".to_owned()]],
            ends_with_sentences: false,
            notes: vec!["A note.".to_owned()],
        };
        let wide = rendered(&result, min_width(&result) as u16);
        assert!(
            wide.contains("test ") && wide.contains("12.3 us\n  A note.\n"),
            "{wide}"
        );
        let narrow = rendered(&result, 60);
        assert!(narrow.contains("   test small_int, arm\n   xxxx"), "{narrow}");
        assert!(narrow.contains("xxxx, mean 12.3 us\n"), "{narrow}");
    }

    #[test]
    fn sentences_wrap_in_their_column() {
        let result = ResultTable {
            title: "failed calls".to_owned(),
            columns: vec!["test", "error"],
            rows: vec![vec!["small_int".to_owned(), "four\n".repeat(30)]],
            ends_with_sentences: true,
            notes: Vec::new(),
        };
        let text = rendered(&result, 60);
        assert!(text.contains("small_int  four four"), "{text}");
        assert!(text.lines().count() > 5, "{text}");
    }
}
