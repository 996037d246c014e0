//! Text of a plan for a terminal. Lines do not wrap, so that a plan can be compared with another one line by line.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use crds::printable::printable;

use crate::report::document::{Block, Detail, Document, Layout, Section, Table};

/// Indentation of the content of a section.
const INDENT: &str = "    ";

/// Renders the document of a plan.
pub(super) fn render(document: &Document) -> String {
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _ = write(&mut text, document);
    printable(&text).into_owned()
}

fn write(text: &mut String, document: &Document) -> std::fmt::Result {
    writeln!(text, "{}   {}", document.name, document.description)?;
    for fact in &document.facts {
        writeln!(text, "  {:<9} {}", fact.heading, fact.text)?;
    }
    for section in &document.sections {
        writeln!(text)?;
        write_section(text, section)?;
    }
    Ok(())
}

fn write_section(text: &mut String, section: &Section) -> std::fmt::Result {
    let has_only_notes = section.blocks.iter().all(|block| matches!(block, Block::Note(_)));
    match section.description.as_str() {
        "" if has_only_notes => {}
        "" => writeln!(text, "  {}", section.heading.to_lowercase())?,
        description => writeln!(text, "  {}   {description}", section.heading)?,
    }
    let indent = if has_only_notes { "  " } else { INDENT };
    for block in section.shown_blocks(Detail::Brief) {
        match block {
            Block::Table(table) => write_table(text, table)?,
            Block::List(list) => {
                for item in &list.items {
                    writeln!(text, "{INDENT}{} {item}", list.heading)?;
                }
            }
            Block::Note(note) => writeln!(text, "{indent}{}", note.line())?,
            Block::Plots(_) => {}
        }
    }
    Ok(())
}

fn write_table(text: &mut String, table: &Table) -> std::fmt::Result {
    let rows = || table.shown_rows(Detail::Brief);
    let lines = match table.layout {
        Layout::Lines => {
            let lines = rows().filter_map(|row| row.line.as_ref());
            lines.map(|(_, line)| line.clone()).collect()
        }
        Layout::Columns | Layout::Matrix => {
            let titles = table.columns.iter().map(|column| column.title.clone());
            let rows = rows().map(|row| row.cells.iter().map(|cell| cell.line()).collect());
            aligned(rows, Some(titles.collect()))
        }
    };
    let notes = table.notes.iter().map(|note| note.line());
    for line in lines.into_iter().chain(notes) {
        writeln!(text, "{INDENT}{line}")?;
    }
    Ok(())
}

/// Formats rows as lines with two spaces between the columns.
pub(super) fn aligned(rows: impl Iterator<Item = Vec<String>>, titles: Option<Vec<String>>) -> Vec<String> {
    let mut table = comfy_table::Table::new();
    table.load_style(NOTHING);
    if let Some(titles) = titles {
        table.set_header(titles);
    }
    for row in rows {
        table.add_row(row);
    }
    // Without borders, every line still starts with the padding of its first cell.
    let unpadded = |line: String| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned();
    table.lines().map(unpadded).collect()
}
