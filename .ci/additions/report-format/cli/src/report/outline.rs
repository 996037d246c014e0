//! An outline: the headings of a document, with the number of rows of each table.

use crds::printable::printable;

use super::document::{Block, Detail, Document};

/// Renders the outline of `document`, with a final newline.
pub(super) fn render(document: &Document) -> String {
    let mut lines = vec![format!("* {}: {}", document.name, document.description)];
    for section in &document.sections {
        lines.push(format!("** {} {}", section.heading, section.description));
        lines.extend(section.shown_blocks(Detail::Full).map(|block| match block {
            Block::Table(table) => {
                let rows = table.shown_rows(Detail::Full).count();
                format!("*** {} ({rows} rows)", table.title)
            }
            Block::List(list) => format!("*** {} ({} items)", list.heading, list.items.len()),
            Block::Note(note) => format!("*** {}", note.line()),
            Block::Plots(plots) => format!("*** {} plots", plots.len()),
        }));
    }
    printable(&(lines.join("\n") + "\n")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::document::{Fact, Section};
    use super::*;

    #[test]
    fn an_outline_has_the_headings() {
        let document = Document {
            name: "run".to_owned(),
            description: "libfabric tcp".to_owned(),
            facts: vec![Fact::new("state", "Running")],
            sections: vec![Section::warnings(&["node-a is slow\u{1b}[31m".to_owned()])],
            ..Document::default()
        };
        assert_eq!(render(&document), "* run: libfabric tcp\n** Warnings \n*** warning (1 items)\n");
    }
}
