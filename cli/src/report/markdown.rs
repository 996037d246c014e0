//! Markdown, short enough for a comment on a pull request.

use std::fmt::Write;

use crds::printable::printable;

use super::document::{Block, Detail, Document, Section, Table};
use super::{MAX_ITEMS, more_items};

/// Renders `document` as Markdown with a final newline.
pub fn render(document: &Document) -> String {
    let mut text = String::new();
    line(&mut text, &format!("### {}\n", escape(&document.name)));
    if !document.description.is_empty() {
        line(&mut text, &format!("- {}", escape(&document.description)));
    }
    for fact in document.facts.iter().filter(|fact| fact.detail == Detail::Brief) {
        let heading = match fact.is_doubt {
            true => format!("**{}**:", fact.heading),
            false => fact.heading.to_owned(),
        };
        line(&mut text, &format!("- {heading} {}", escape(&fact.text)));
    }
    for shown in &document.sections {
        section(&mut text, shown);
    }
    printable(&text).into_owned()
}

/// Appends a line.
fn line(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

fn section(text: &mut String, section: &Section) {
    let mut is_in_list = false;
    let mut is_titled = section.heading.is_empty();
    for block in section.shown_blocks(Detail::Brief) {
        let items = match block {
            Block::Table(shown) => {
                let is_repeated = is_titled && shown.title.is_empty() && is_in_list;
                if !is_repeated {
                    let title = match shown.title.as_str() {
                        "" => &section.description,
                        title => title,
                    };
                    line(text, &format!("\n{}", heading(&section.heading, title)));
                }
                line(text, "");
                table(text, shown);
                is_titled = true;
                is_in_list = false;
                continue;
            }
            Block::Note(note) => vec![note.line()],
            Block::Plots(_) => continue,
            Block::List(list) => {
                let items = list.items.iter().take(MAX_ITEMS);
                let items = items.cloned().chain(more_items(list.items.len()));
                items.map(|item| format!("{}: {item}", list.heading)).collect()
            }
        };
        // The items of a list have its heading.
        if !is_titled && matches!(block, Block::Note(_)) {
            line(
                text,
                &format!("\n{}", heading(&section.heading, &section.description)),
            );
            is_titled = true;
        }
        if !is_in_list {
            line(text, "");
        }
        is_in_list = true;
        for item in items {
            line(text, &format!("- {}", escape(&item)));
        }
    }
}

/// Title of a section, or of one of its tables.
fn heading(heading: &str, title: &str) -> String {
    match (heading, title) {
        ("", title) => escape(title),
        (heading, "") => format!("**{}**", escape(heading)),
        (heading, title) => format!("**{}**: {}", escape(heading), escape(title)),
    }
}

fn table(text: &mut String, table: &Table) {
    let columns: Vec<_> = table.shown_columns(Detail::Brief).collect();
    row(text, columns.iter().map(|(_, column)| column.title.clone()));
    row(text, columns.iter().map(|_| "---".to_owned()));
    for shown in table.shown_rows(Detail::Brief) {
        let cells = columns.iter().filter_map(|(index, _)| shown.cells.get(*index));
        row(text, cells.map(|cell| cell.line()));
    }
    for note in table.shown_notes(Detail::Brief) {
        line(text, &format!("\n{}", escape(&note.line())));
    }
}

/// Appends a row of a table. It escapes the cells, so that callers must not.
fn row(text: &mut String, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.map(|cell| escape(&cell)).collect();
    line(text, &format!("| {} |", cells.join(" | ")));
}

/// Converts `text` to one line, escaped so that it contains no markup, mention or link.
fn escape(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        // A pipe ends a table cell even inside code, and outside a table, a backslash before it would be visible. Code
        // therefore never contains a pipe.
        let pieces = word.split('|').map(escaped_part);
        pieces.collect::<Vec<_>>().join("\\|")
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Escapes part of a word.
///
/// The part becomes code if escaping is not sufficient: mentions, issue numbers, URLs and formulas are detected after
/// backslash escapes are resolved.
fn escaped_part(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let detected_after_escaping =
        text.contains(['@', '#', '$']) || lower.contains("://") || lower.contains("www.");
    match detected_after_escaping {
        true => code(text),
        false => text.chars().flat_map(escaped_character).collect(),
    }
}

/// Returns `character`, preceded by a backslash if it could be markup.
fn escaped_character(character: char) -> impl Iterator<Item = char> {
    let special = matches!(
        character,
        '<' | '>' | '*' | '_' | '`' | '\\' | '[' | ']' | '~' | '&'
    );
    special.then_some('\\').into_iter().chain([character])
}

/// Formats `text` as code, delimited by a run of backticks that is longer than any run in the text.
///
/// Spaces separate the text from the delimiters if it starts or ends with a backtick.
fn code(text: &str) -> String {
    let runs = text.split(|character| character != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default() + 1);
    let padding = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{padding}{text}{padding}{fence}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::document::{Column, Row};
    use super::{Block, Document, Section, Table, escape};

    #[test]
    fn escapes_a_cell_once() {
        let table = Table {
            columns: Column::all(["arm", "a_b"]),
            rows: vec![Row::new(["an_arm", "FI_OFI_RXM=1"])],
            ..Table::default()
        };
        let document = Document {
            sections: vec![Section {
                blocks: vec![Block::Table(table)],
                ..Section::default()
            }],
            ..Document::default()
        };
        let text = super::render(&document);
        let expected = "| arm | a\\_b |\n| --- | --- |\n| an\\_arm | FI\\_OFI\\_RXM=1 |\n";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn escapes_markup_mentions_and_links() {
        assert_eq!(escape("a|b\n<img> *c*"), "a\\|b \\<img\\> \\*c\\*");
        assert_eq!(escape("ask @org/team, see #12"), "ask `@org/team,` see `#12`");
        assert_eq!(escape("`@a`|b ~x~ &lt;"), "`` `@a` ``\\|b \\~x\\~ \\&lt;");
        assert_eq!(escape("at https://x.example/a_b"), "at `https://x.example/a_b`");
    }

    /// Renders `markdown`. Returns the text outside code, and the whole text, both without escapes.
    fn render(markdown: &str) -> (String, String) {
        let (mut outside, mut all) = (String::new(), String::new());
        let mut rest = markdown;
        while let Some(first) = rest.chars().next() {
            let taken = match first {
                '\\' => {
                    let escaped = rest[1..].chars().next().expect("a character after a backslash");
                    assert!(escaped.is_ascii_punctuation());
                    all.push(escaped);
                    outside.push(escaped);
                    2
                }
                '`' => {
                    let fence = rest.len() - rest.trim_start_matches('`').len();
                    let inside = &rest[fence..];
                    // Code ends at the next run of exactly as many backticks.
                    let mut end = 0;
                    loop {
                        end += inside[end..].find('`').expect("code ends");
                        let run = inside[end..].len() - inside[end..].trim_start_matches('`').len();
                        if run == fence {
                            break;
                        }
                        end += run;
                    }
                    let code = &inside[..end];
                    assert!(!code.contains('|'), "a table cell would end here: {markdown}");
                    let stripped = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
                    all.push_str(stripped.unwrap_or(code));
                    outside.push('\u{fffc}');
                    fence + end + fence
                }
                special if "|<>*_[]~&".contains(special) => panic!("{special} in {markdown}"),
                other => {
                    all.push(other);
                    outside.push(other);
                    other.len_utf8()
                }
            };
            rest = &rest[taken..];
        }
        (outside, all)
    }

    proptest! {
        #[test]
        fn escapes_markup_without_losing_text(text in r"([a-cA-C:/.!^$#@~&<>*_`\\|\[\]\n -]|www\.|https?://|é){0,40}") {
            let (outside, all) = render(&escape(&text));
            let flat: Vec<&str> = text.split_whitespace().collect();
            prop_assert_eq!(all, flat.join(" "));
            prop_assert!(!outside.contains(['@', '#', '$']), "{}", outside);
            prop_assert!(!outside.contains("://") && !outside.contains("www."), "{}", outside);
        }
    }
}
