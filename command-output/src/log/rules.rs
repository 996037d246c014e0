//! The rules of each tool and library. `docs/command-log.md` lists them.

mod libfabric;
mod mooncake;
mod nccl;
mod nixl;
mod ofi_nccl;
mod perftest;
mod process;
mod ucx;

use std::sync::LazyLock;

use super::pattern::capture;
use super::rule::Rule;

/// Rules for the lines of one tool or library.
#[derive(Clone, Copy, Debug)]
pub struct RuleTable {
    /// Name that precedes the names of the rules.
    pub library: &'static str,
    /// Name and version of the library whose source contains the texts. Older versions print most of them as well.
    pub version: &'static str,
    /// Texts in ASCII lowercase. Every line of the library contains at least one of them. If empty, the rules apply to
    /// every line.
    pub marks: &'static [&'static str],
    /// The rules. The first rule that recognizes a line applies.
    pub rules: &'static [Rule],
}

/// The rules of all tools and libraries. The first table with a rule that recognizes a line applies, so that the
/// general rules of a table must not precede the rules of a library whose lines have the same marks.
pub const TABLES: &[RuleTable] = &[
    ofi_nccl::TABLE,
    nccl::TABLE,
    ucx::TABLE,
    libfabric::TABLE,
    nixl::TABLE,
    mooncake::TABLE,
    perftest::TABLE,
    process::TABLE,
];

/// A table, and its rules with their patterns in ASCII lowercase.
type LowercaseTable = (&'static RuleTable, Vec<(&'static Rule, String)>);

/// All tables.
static PATTERNS: LazyLock<Vec<LowercaseTable>> = LazyLock::new(|| {
    let tables = TABLES.iter().map(|table| {
        let rules = table.rules.iter();
        (
            table,
            rules
                .map(|rule| (rule, rule.pattern.to_ascii_lowercase()))
                .collect(),
        )
    });
    tables.collect()
});

/// Finds the rule that recognizes `line`. Also returns the name of its library, and the text that contains the names.
/// `lower` is `line` in ASCII lowercase.
pub(super) fn find<'a>(line: &'a str, lower: &str) -> Option<(&'static str, &'static Rule, &'a str)> {
    let mut tables = PATTERNS
        .iter()
        .filter(|(table, _)| table.marks.is_empty() || table.marks.iter().any(|mark| lower.contains(mark)));
    tables.find_map(|(table, rules)| {
        let mut rules = rules.iter();
        rules.find_map(|(rule, pattern)| Some((table.library, *rule, capture(pattern, line, lower)?)))
    })
}
