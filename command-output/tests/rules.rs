//! Compares the rules for log lines with their list in the documentation, `docs/command-log.md`.
//!
//! To update the list, run this test with `FABRICBENCH_UPDATE_GOLDEN=1`.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "a test reads the documentation")]

use std::fmt::Write;

use command_output::log::{Names, TABLES};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/command-log.md");
const BEGIN: &str = "<!-- rules: begin -->\n";
const END: &str = "<!-- rules: end -->\n";

/// Formats the rules as Markdown tables.
fn list() -> String {
    let mut text = String::new();
    for table in TABLES {
        writeln!(text, "\n### {}\n", table.library).unwrap();
        writeln!(text, "Source: {}.\n", table.version).unwrap();
        writeln!(
            text,
            "| rule | text | kind | names | file |\n|---|---|---|---|---|"
        )
        .unwrap();
        for rule in table.rules {
            let kind = rule
                .kind
                .map_or("harmless".to_owned(), |kind| format!("`{kind:?}`"));
            let names = match rule.names {
                Names::None => String::new(),
                Names::Fixed(names) => names.join(", "),
                Names::Captured => "the text of `{}`".to_owned(),
                Names::Quoted => "quoted in `{}`".to_owned(),
                Names::Lanes => "transports of the lanes in `{}`".to_owned(),
            };
            let (name, pattern, source) = (rule.name, rule.pattern, rule.source);
            writeln!(text, "| `{name}` | `{pattern}` | {kind} | {names} | {source} |").unwrap();
        }
    }
    text.push('\n');
    text
}

#[test]
fn documentation_lists_every_rule() {
    let documented = std::fs::read_to_string(FILE).unwrap();
    let (before, rest) = documented.split_once(BEGIN).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    let expected = list();
    if std::env::var_os("FABRICBENCH_UPDATE_GOLDEN").is_some() {
        std::fs::write(FILE, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
        return;
    }
    assert!(
        found == expected,
        "the rules in docs/command-log.md are out of date. Run this test with FABRICBENCH_UPDATE_GOLDEN=1"
    );
}
