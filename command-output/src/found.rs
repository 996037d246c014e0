//! Everything that a tool's parser found in an output: the results, and evidence of whether the output is complete.

use std::fmt;

use crate::Row;
use crate::lines::Line;
use crate::log;

/// Maximum number of lines that are shown.
const MAX_SHOWN: usize = 3;
/// Maximum length of a line that is shown, in characters.
const MAX_CHARACTERS: usize = 200;

/// Results in an output, and the evidence of whether the output comes from exactly one complete run.
#[derive(Debug, Default)]
pub struct ParsedOutput {
    /// Results, in output order.
    pub rows: Vec<Row>,
    /// Table headers in output order, with words separated by single spaces. A process prints one.
    pub headers: Vec<String>,
    /// Number of columns; 0 if the tool prints no table.
    pub columns: usize,
    /// First line that contains a part of a result, but not exactly one whole result.
    pub unread: Option<String>,
    /// Whether the last result is followed by the text that the tool prints after its results. `None` if no such text
    /// is known for the tool.
    pub has_end: Option<bool>,
    /// Description of results that the tool announced, but that are missing.
    pub missing: Option<String>,
    /// How often the process measured all sizes; 0 and 1 both mean once.
    pub cycles: usize,
    /// Titles of the tests, in output order. A process prints one.
    pub tests: Vec<String>,
    /// Settings that the tool printed.
    pub settings: Vec<Setting>,
    /// Contradictions that do not affect the results, for the reader of a report.
    pub notes: Vec<String>,
    /// Lines that were neither used nor are known to be unimportant.
    pub unknown: UnknownLines,
}

/// Setting that a tool printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name of the setting.
    pub name: &'static str,
    /// Value, as the tool printed it.
    pub value: String,
    /// Whether results with different values measure different things, and cannot be compared.
    pub identifies_test: bool,
}

/// Lines that a parser neither used nor knows to be unimportant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownLines {
    /// Number of the lines.
    pub count: usize,
    /// The first of them, without control characters, at most three.
    pub first: Vec<String>,
}

impl UnknownLines {
    /// Adds a line, unless it is a log line, which is reported as such.
    pub fn add(&mut self, line: &Line<'_>) {
        if log::is_recognized(&line.text) {
            return;
        }
        self.count += 1;
        if self.first.len() < MAX_SHOWN {
            self.first.push(shown(&line.text));
        }
    }

    /// Adds the lines of another stream.
    pub fn append(&mut self, other: Self) {
        self.count += other.count;
        let free = MAX_SHOWN.saturating_sub(self.first.len());
        self.first.extend(other.first.into_iter().take(free));
    }
}

impl fmt::Display for UnknownLines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.count == 1 { "line" } else { "lines" };
        let first = self.first.join(" | ");
        write!(
            formatter,
            "{} {unit} not understood, and not used: {first}",
            self.count
        )
    }
}

impl ParsedOutput {
    /// Adds a table header with `columns` columns.
    pub fn add_header(&mut self, line: &str, columns: usize) {
        self.headers
            .push(line.split_whitespace().collect::<Vec<_>>().join(" "));
        self.columns = columns;
    }

    /// Adds a result.
    pub fn add_row(&mut self, row: Row) {
        self.rows.push(row);
        self.has_end = self.has_end.map(|_| false);
    }

    /// Adds a line that contains a part of a result.
    pub fn add_unread(&mut self, line: &Line<'_>) {
        self.unread.get_or_insert_with(|| shown(&line.text));
    }

    /// Records whether a line without a result is the text that the tool prints after its results.
    pub fn add_end(&mut self, is_end: bool) {
        self.has_end = Some(is_end || self.has_end.unwrap_or_default());
    }

    /// Adds a setting. A repeated setting is added only once.
    pub fn add_setting(&mut self, name: &'static str, value: &str, identifies_test: bool) {
        let setting = Setting {
            name,
            value: shown(value),
            identifies_test,
        };
        if !self.settings.contains(&setting) {
            self.settings.push(setting);
        }
    }
}

/// A line for a message: without control characters and white space at its ends, and not too long.
pub fn shown(line: &str) -> String {
    let characters = line.trim().chars().map(crate::printable);
    characters.take(MAX_CHARACTERS).collect()
}
