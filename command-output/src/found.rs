//! Everything that a tool's parser found in an output: the results, and evidence of whether the output is complete.

use crate::Row;

/// Results in an output, and the evidence of whether the output comes from exactly one complete run.
#[derive(Debug, Default)]
pub struct ParsedOutput {
    /// Results, in output order.
    pub rows: Vec<Row>,
    /// Distinct table headers, with words separated by single spaces.
    pub headers: Vec<String>,
    /// First line of a table that starts like a result but has different columns.
    pub unread: Option<String>,
    /// Whether the last result is followed by the text that the tool prints after its results. `None` if no such text
    /// is known for the tool.
    pub has_end: Option<bool>,
}

impl ParsedOutput {
    /// Creates the results of a tool whose output has no table.
    pub fn from_rows(rows: Vec<Row>) -> Self {
        Self {
            rows,
            ..Self::default()
        }
    }

    /// Adds a table header.
    pub fn add_header(&mut self, line: &str) {
        let header = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if !self.headers.contains(&header) {
            self.headers.push(header);
        }
    }

    /// Adds the result in `line`. A line without a result is stored if it starts like a result.
    pub fn add_row(&mut self, row: Option<Row>, line: &str, starts_like_result: bool) {
        match row {
            Some(row) => {
                self.rows.push(row);
                self.has_end = self.has_end.map(|_| false);
            }
            None if starts_like_result && self.unread.is_none() => self.unread = Some(line.trim().to_owned()),
            None => {}
        }
    }

    /// Records whether a line without a result is the text that the tool prints after its results.
    pub fn add_end(&mut self, is_end: bool) {
        self.has_end = Some(is_end || self.has_end.unwrap_or_default());
    }
}
