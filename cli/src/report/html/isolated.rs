//! Tables of the tests of isolated processes.

use maud::{Markup, html};

use crate::report::result_table::ResultTable;
use crate::report::{Report, isolated};

/// Tables of the tests in the scenario with index `index`; empty if it has no such tests.
pub(super) fn tests(report: &Report<'_>, index: usize) -> Markup {
    html! {
        @if let Some(tests) = isolated::of_scenario(report, index) {
            @for table in &tests.tables { (result_table(table)) }
            @if let Some((heading, counts)) = &tests.counts { p.note { (heading) ": " (counts) } }
        }
    }
}

fn result_table(table: &ResultTable) -> Markup {
    let last = table.columns.len().saturating_sub(1);
    html! {
        h3 { (capitalized(&table.title)) }
        div.scroll tabindex="0" role="region" aria-label=(capitalized(&table.title)) {
            table.numbers {
                thead { tr { @for title in &table.columns { th scope="col" { (title) } } } }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (column, cell) in row.iter().enumerate() {
                                @if column == 0 {
                                    th scope="row" { (cell) }
                                } @else if table.ends_with_sentences && column == last {
                                    td.text { (cell) }
                                } @else {
                                    td { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
        @for note in &table.notes { p.note { (note) } }
    }
}

/// Returns `text` with its first letter in uppercase.
pub(super) fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next();
    first
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(characters)
        .collect()
}
