//! Text for a terminal.

mod table;

use std::fmt::Write;

use crds::printable::{printable_on_one_line, printable_with_styles};

use super::document::{Block, Detail, Document, Layout, Note, Section};
use super::{MAX_ITEMS, more_items};

/// Width in columns if the output is not a terminal.
pub const DEFAULT_WIDTH: u16 = 132;
/// Minimum width in columns.
pub const MIN_WIDTH: u16 = 60;
/// Indentation of every line.
const INDENT: &str = "  ";

/// Options of text.
#[derive(Clone, Copy, Debug)]
pub struct TextOptions<'a> {
    /// Width in columns.
    pub width: u16,
    /// Whether verdicts are colored.
    pub color: bool,
    /// Path to the full report, if it was written.
    pub full_report: Option<&'a str>,
}

impl Default for TextOptions<'_> {
    fn default() -> Self {
        Self {
            width: DEFAULT_WIDTH,
            color: false,
            full_report: None,
        }
    }
}

/// Renders `document` as text with a final newline.
pub fn render(document: &Document, options: &TextOptions<'_>) -> String {
    let options = TextOptions {
        width: options.width.max(MIN_WIDTH),
        ..*options
    };
    let mut text = String::new();
    let name = format!("{}   ", document.name);
    push_wrapped(&mut text, &name, &document.description, options.width);
    for fact in document
        .facts
        .iter()
        .filter(|fact| fact.detail <= Detail::Detailed)
    {
        push_line(&mut text, fact.heading, &fact.text, options.width);
    }
    for shown in &document.sections {
        section(&mut text, shown, &options);
    }
    if let Some(path) = options.full_report {
        push_line(&mut text, "report", path, options.width);
    }
    printable_with_styles(&text)
}

fn section(text: &mut String, section: &Section, options: &TextOptions<'_>) {
    let mut blocks = section.shown_blocks(Detail::Detailed).peekable();
    if blocks.peek().is_none() {
        return;
    }
    text.push('\n');
    if !section.description.is_empty() {
        push_line(text, &section.heading, &section.description, options.width);
    }
    for block in blocks {
        match block {
            Block::Table(table) => match table.layout {
                Layout::Lines => {
                    let lines = table
                        .shown_rows(Detail::Detailed)
                        .filter_map(|row| row.line.as_ref());
                    lines.for_each(|(heading, line)| push_line(text, heading, line, options.width));
                }
                Layout::Columns | Layout::Matrix => table::render(text, table, options),
            },
            Block::List(list) => {
                let items = list.items.iter().take(MAX_ITEMS);
                for item in items.cloned().chain(more_items(list.items.len())) {
                    push_line(text, list.heading, &item, options.width);
                }
            }
            Block::Note(shown) => note(text, shown, options.width),
            Block::Plots(_) => {}
        }
    }
}

/// Appends a sentence after its heading, if it has one.
fn note(text: &mut String, note: &Note, width: u16) {
    match note.heading {
        "" => push_wrapped(text, INDENT, &note.text, width),
        heading => push_line(text, heading, &note.text, width),
    }
}

/// Appends a line with `heading` and `content`, wrapped with a hanging indent.
fn push_line(text: &mut String, heading: &str, content: &str, width: u16) {
    push_wrapped(text, &format!("{INDENT}{heading:<8} "), content, width);
}

/// Appends `content` after `heading`, wrapped with a hanging indent. Both are made printable, because a style in them would
/// remain in the report.
fn push_wrapped(text: &mut String, heading: &str, content: &str, width: u16) {
    let (heading, content) = (printable_on_one_line(heading), printable_on_one_line(content));
    let indent = heading.chars().count();
    let available = usize::from(width).saturating_sub(indent).max(20);
    let mut lines: Vec<String> = vec![String::new()];
    for word in content.split(' ') {
        let Some(last) = lines.last_mut() else { break };
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= available {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    for (index, line) in lines.iter().enumerate() {
        let prefix = if index == 0 {
            heading.clone()
        } else {
            " ".repeat(indent)
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", format!("{prefix}{line}").trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_long_lines_with_a_hanging_indent() {
        let mut text = String::new();
        push_line(&mut text, "fabric", &"four ".repeat(20), 60);
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|line| line.chars().count() <= 60));
        assert!(
            text.lines()
                .nth(1)
                .is_some_and(|line| line.starts_with("           four"))
        );
    }
}
