//! Reasons that an output contains no usable result, and how the user resolves them.

use crds::v1alpha1::CommandTool;
use snafu::Snafu;

use crate::MAX_ROWS;
use crate::found::shown;
use crate::printed::{is_not_finite, is_numeric};
use crate::row::PrintedSize;

/// Where an output comes from. This determines how an error about it is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputOrigin {
    /// A log that a user imports.
    Log,
    /// A command that a case executed.
    Command,
}

/// Reason that an output contains no usable result.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
#[snafu(visibility(pub(crate)))]
pub enum ParseError {
    /// Nothing was printed.
    #[snafu(display("it printed nothing"))]
    Nothing,
    /// No line contains a result of the tool.
    #[snafu(display("the output does not contain {expected}; the output ends with: {last}"))]
    NoResult {
        /// Result that was expected.
        expected: &'static str,
        /// End of the output.
        last: String,
    },
    /// There is the header of a table but no result.
    #[snafu(display(
        "the output has the header of a table but no result of {tool:?}, so it is incomplete or the tool failed; it \
         ends with: {last}"
    ))]
    OnlyHeader {
        /// Tool whose table it is.
        tool: CommandTool,
        /// End of the output.
        last: String,
    },
    /// A table header has different columns or units than expected.
    #[snafu(display(
        "the unit or the columns differ from those that the tool is known to print: expected {expected}, found `{found}`"
    ))]
    Unit {
        /// Expected columns or unit.
        expected: &'static str,
        /// Header or unit that was found.
        found: String,
    },
    /// A table header contains a column that the tool is not known to print.
    #[snafu(display(
        "the column `{text}` is not one that the tool is known to print, so the other columns may be at other positions: `{header}`"
    ))]
    UnknownColumn {
        /// Text that is not the name of a known column.
        text: String,
        /// Header that contains it.
        header: String,
    },
    /// A value is not a number, is negative or is not finite.
    #[snafu(display("`{text}` is not a number in `{line}`"))]
    Number {
        /// Text of the value.
        text: String,
        /// Line that contains it.
        line: String,
    },
    /// The tool found corrupted data.
    #[snafu(display("the tool reports corrupted data: `{line}`"))]
    WrongData {
        /// Line that reports it.
        line: String,
    },
    /// The columns of a result contradict each other.
    #[snafu(display("the result `{line}` is damaged or was not printed by this tool: {problem}"))]
    Contradiction {
        /// Line of the result.
        line: String,
        /// Relation that does not hold.
        problem: &'static str,
    },
    /// The totals that the tool printed contradict the results.
    #[snafu(display("{message}: a result is missing or damaged"))]
    Totals {
        /// Relation that does not hold.
        message: String,
    },
    /// A line contains a part of a result, or more than one.
    #[snafu(display(
        "the line `{line}` contains a part of a result, but not exactly one whole result: its columns differ from those \
         of the header"
    ))]
    NotWhole {
        /// The line.
        line: String,
    },
    /// Several processes printed results.
    #[snafu(display("the processes `{first}` and `{second}` both printed results"))]
    SeveralProcesses {
        /// Tag of the first process.
        first: String,
        /// Tag of the second process.
        second: String,
    },
    /// There are more results than the limit.
    #[snafu(display("there are more than {MAX_ROWS} results"))]
    TooMany,
    /// No result has the requested size.
    #[snafu(display("there is no result for {size} bytes, only for {found}"))]
    OtherSize {
        /// Requested size in bytes.
        size: u64,
        /// Sizes of the results.
        found: String,
    },
    /// The values of the result, which has no size, exclude the requested size.
    #[snafu(display("the values of the result imply a size of {implied} bytes, not of {size}"))]
    ImpliedSize {
        /// Requested size in bytes.
        size: u64,
        /// Sizes that the values allow.
        implied: PrintedSize,
    },
    /// Several results have the requested size.
    #[snafu(display("there are {count} results for {size} bytes, but a run must print exactly one"))]
    Ambiguous {
        /// Requested size in bytes.
        size: u64,
        /// Number of results.
        count: usize,
    },
    /// The output contains several runs.
    #[snafu(display("the output contains several invocations: {what}"))]
    SeveralRuns {
        /// Text that shows this.
        what: String,
    },
    /// The tables have different columns or units.
    #[snafu(display("the tables in the output have different columns or units: `{first}` and `{second}`"))]
    SeveralTables {
        /// First header.
        first: String,
        /// Second header.
        second: String,
    },
    /// Several results have the same size.
    #[snafu(display("the output has several results {size}, so it contains several runs"))]
    Repeated {
        /// Description of the size.
        size: String,
    },
    /// Results are missing.
    #[snafu(display("the output is incomplete: {what}"))]
    Missing {
        /// Description of the missing results.
        what: String,
    },
    /// The end of the output is missing.
    #[snafu(display("the output is incomplete: {expected} does not follow the last result"))]
    NoEnd {
        /// Text that the tool prints after its results.
        expected: &'static str,
    },
    /// A value is infinite or not a number: the tool divided by a time or a count of 0.
    #[snafu(display(
        "`{text}` in `{line}` is not a measured value: the tool measured nothing, or its clock did not advance"
    ))]
    NotFinite {
        /// Text of the value.
        text: String,
        /// Line that contains it.
        line: String,
    },
    /// A result has no operations.
    #[snafu(display("the result {size} has 0 iterations, so nothing was measured"))]
    NoOperations {
        /// Description of the size.
        size: String,
    },
    /// A group of the regular expression matches only a part of a number.
    #[snafu(display(
        "a group of the expression matches `{text}`, which is only a part of a number in `{line}`. Extend the group, for \
         example to [0-9.e+-]+, or select other text"
    ))]
    PartOfNumber {
        /// Text of the group.
        text: String,
        /// Line that contains it.
        line: String,
    },
    /// The regular expression matches a line more than once.
    #[snafu(display(
        "the expression matches the line `{line}` more than once, so it is unknown which match is the result. Extend the \
         expression so that it matches once, for example with ^ and $"
    ))]
    SeveralMatches {
        /// The line.
        line: String,
    },
    /// The regular expression is missing or invalid.
    #[snafu(display("{problem}"))]
    Pattern {
        /// Description of the problem.
        problem: String,
    },
}

/// Constructors, which limit the length of the quoted text.
impl ParseError {
    pub(crate) fn unit(expected: &'static str, found: &str) -> Self {
        let found = shown(found);
        Self::Unit { expected, found }
    }

    pub(crate) fn number(text: &str, line: &str) -> Self {
        let (is_not_finite, text, line) = (is_not_finite(text), shown(text), shown(line));
        match is_not_finite {
            true => Self::NotFinite { text, line },
            false => Self::Number { text, line },
        }
    }

    /// The error for `line`, which is not exactly one row of a table with `columns` columns.
    pub(crate) fn not_whole(line: &str, columns: usize) -> Self {
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers = words.iter().filter(|word| is_numeric(word)).count();
        let is_whole = columns > 0 && words.len() >= columns && numbers >= columns.div_ceil(2);
        match words.iter().find(|word| is_whole && is_not_finite(word)) {
            Some(word) => Self::number(word, line),
            None => Self::NotWhole { line: shown(line) },
        }
    }

    pub(crate) fn wrong_data(line: &str) -> Self {
        let line = shown(line);
        Self::WrongData { line }
    }

    pub(crate) fn contradiction(line: &str, problem: &'static str) -> Self {
        let line = shown(line);
        Self::Contradiction { line, problem }
    }
}

impl ParseError {
    /// The error with the way to resolve it, as far as it is known.
    pub fn explained(&self, origin: OutputOrigin) -> String {
        self.explained_with(origin, "")
    }

    /// The error, followed by `details` unless they are empty, and the way to resolve it, as far as it is known.
    pub fn explained_with(&self, origin: OutputOrigin, details: &str) -> String {
        let separator = if details.is_empty() { "" } else { "; " };
        let remedy = self.remedy(origin).map(|remedy| format!(". {remedy}"));
        format!("{self}{separator}{details}{}", remedy.unwrap_or_default())
    }

    /// How the user resolves the error.
    fn remedy(&self, origin: OutputOrigin) -> Option<String> {
        let (log, command) = match self {
            Self::Contradiction { .. } | Self::Totals { .. } => (
                "Specify output that was not changed",
                "Specify the tool that the command executes, and let no other program write to its output",
            ),
            Self::NotWhole { .. } => (
                "Specify the complete output of one process; lines of several processes must not be mixed",
                "Let only one process write to the output of the command",
            ),
            Self::SeveralProcesses { .. } => (
                "Keep only the lines of the process whose results are to be read",
                "Let only one process print results",
            ),
            Self::SeveralRuns { .. } | Self::SeveralTables { .. } | Self::Repeated { .. } => (
                "Write the output of each run to a separate file, and specify all of these files",
                "Execute the tool once in each command",
            ),
            Self::OnlyHeader { .. } | Self::Missing { .. } | Self::NoEnd { .. } => (
                "Specify the complete log of a run that completed",
                "Correct the cause for which the tool ended early; it may be in the output of the tool",
            ),
            Self::NotFinite { .. } | Self::NoOperations { .. } => (
                "Repeat the run with a larger size or more iterations",
                "Specify a larger size or more iterations",
            ),
            Self::OtherSize { .. } => ("", "Pass the size to the tool with the placeholder {size}"),
            Self::ImpliedSize { implied, .. } => match (origin, implied.probable()) {
                (OutputOrigin::Log, Some(size)) => {
                    return Some(format!(
                        "Specify the size with which the tool ran, probably --size {size}"
                    ));
                }
                _ => (
                    "Specify the size with which the tool ran with --size",
                    "Pass the size to the tool with the placeholder {size}",
                ),
            },
            _ => ("", ""),
        };
        let remedy = match origin {
            OutputOrigin::Log => log,
            OutputOrigin::Command => command,
        };
        Some(remedy.to_owned()).filter(|remedy| !remedy.is_empty())
    }
}
