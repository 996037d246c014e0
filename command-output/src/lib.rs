//! Arguments and output of external benchmark commands: [`template`] replaces placeholders in arguments, [`parse`]
//! reads results from the output of a tool, and [`log`] finds in the output which transports the tool's library used.
//! Performs no I/O.
//!
//! Every value was printed by the tool and is converted to nanoseconds or bytes per second. It carries the range of the
//! number before printing ([`Printed`]). Nothing is estimated: a value that a tool does not print is `None`, and output
//! with an unexpected format or unit is an error.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod corruption;
mod fabtests;
mod found;
pub mod import;
mod layout;
pub mod lines;
pub mod log;
mod nccl_tests;
mod nixlbench;
mod pattern;
mod perftest;
mod printed;
mod row;
mod streams;
mod table;
pub mod template;
mod transfer_engine_bench;
mod ucx_perftest;

use crds::printable::is_hidden;
use crds::v1alpha1::{CommandPattern, CommandTool};
use found::{ParsedOutput, shown};
pub use found::{Setting, UnknownLines};
use lines::Lines;
use snafu::{OptionExt, Snafu, ensure};

pub use pattern::{LinePattern, PatternError, PatternProblem, check as check_pattern};
pub use printed::Printed;
pub use row::{PrintedSize, Row, most_payload};

/// Maximum number of bytes that are read from the output of a command.
pub const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// Maximum number of results that are read from the output of a command.
pub const MAX_ROWS: usize = 4096;

/// Reason that an output contains no usable result.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
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
    #[snafu(display(
        "the result `{line}` is damaged or was not printed by this tool: {problem}. Specify output that was not changed"
    ))]
    Contradiction {
        /// Line of the result.
        line: String,
        /// Relation that does not hold.
        problem: &'static str,
    },
    /// The totals that the tool printed contradict the results.
    #[snafu(display("{message}: a result is missing or damaged. Specify output that was not changed"))]
    Totals {
        /// Relation that does not hold.
        message: String,
    },
    /// A line contains a part of a result, or more than one.
    #[snafu(display(
        "the line `{line}` contains a part of a result, but not exactly one whole result: its columns differ from those \
         of the header. Specify the complete output of one process; lines of several processes must not be mixed"
    ))]
    NotWhole {
        /// The line.
        line: String,
    },
    /// Several processes printed results.
    #[snafu(display(
        "the processes `{first}` and `{second}` both printed results. Keep only the lines of the process whose results \
         are to be read"
    ))]
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
    /// The bandwidth and the message rate of the only result, which has no size, exclude the requested size.
    #[snafu(display(
        "the log's bandwidth and message rate imply {}, not {size}. Specify the size with which the tool ran",
        implied.approximately()
    ))]
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
        let (text, line) = (shown(text), shown(line));
        Self::Number { text, line }
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

/// Reads all results in `output`, in order. `pattern` is the pattern for the `Regex` tool.
///
/// # Errors
/// Returns an error if the output has no result, or does not have the format and the units that the tool is known to
/// print.
pub fn parse(
    tool: CommandTool,
    pattern: Option<&CommandPattern>,
    output: &str,
) -> Result<Vec<Row>, ParseError> {
    let found = find(tool, pattern, output, &Lines::read(output))?;
    match found.unread {
        Some(line) => NotWholeSnafu { line }.fail(),
        None => Ok(found.rows),
    }
}

/// Reads the results in `output`, whose lines are `lines`, and the evidence of whether it is complete.
fn find(
    tool: CommandTool,
    pattern: Option<&CommandPattern>,
    output: &str,
    lines: &Lines<'_>,
) -> Result<ParsedOutput, ParseError> {
    ensure!(!output.trim().is_empty(), NothingSnafu);
    let found = match tool {
        CommandTool::Regex => {
            let pattern = pattern.context(PatternSnafu {
                problem: "tool: Regex requires a pattern",
            })?;
            pattern::parse(pattern, output, lines)
        }
        tool => streams::parse(tool, lines),
    }?;
    ensure!(found.rows.len() <= MAX_ROWS, TooManySnafu);
    if let (true, Some(line)) = (found.rows.is_empty(), &found.unread) {
        return NotWholeSnafu { line }.fail();
    }
    ensure!(
        !found.rows.is_empty(),
        NoResultSnafu {
            expected: expected_results(tool),
            last: end_of(output),
        }
    );
    Ok(found)
}

/// Lines of `output` that [`parse`] neither uses nor knows to be unimportant. They may contain the cause of its failure.
pub fn unknown_lines(tool: CommandTool, pattern: Option<&CommandPattern>, output: &str) -> UnknownLines {
    let lines = Lines::read(output);
    match pattern.map(|pattern| LinePattern::new(&pattern.expression)) {
        Some(Ok(pattern)) => pattern.unmatched(&lines),
        _ => streams::unknown_lines(tool, &lines),
    }
}

/// Finds the result for `size` bytes in `rows`. A result without a size belongs to the only size of its run.
///
/// # Errors
/// Returns an error if there is not exactly one result for this size.
pub fn select(rows: &[Row], size: u64) -> Result<Row, ParseError> {
    let matching_rows: Vec<&Row> = rows.iter().filter(|row| row.matches_size(size)).collect();
    match matching_rows.as_slice() {
        [row] => {
            check_implied_size(row, size)?;
            Ok((*row).clone().with_size(size))
        }
        [] => {
            let mut sizes: Vec<String> = rows.iter().filter_map(Row::printed_size).collect();
            sizes.truncate(16);
            let found = sizes.join(", ");
            OtherSizeSnafu { size, found }.fail()
        }
        several => {
            let count = several.len();
            AmbiguousSnafu { size, count }.fail()
        }
    }
}

/// Fails if the values of a result without a size contradict `size` in bytes.
///
/// # Errors
/// Returns an error if the bandwidth divided by the message rate cannot be `size`.
pub fn check_implied_size(row: &Row, size: u64) -> Result<(), ParseError> {
    match row.implied_size {
        Some(implied) if !implied.matches(size) => ImpliedSizeSnafu { size, implied }.fail(),
        _ => Ok(()),
    }
}

/// Text that `tool` prints for both sizes, in bytes; `None` if it prints them differently. Only fabtests cuts off sizes.
pub fn same_size_text(tool: CommandTool, first: u64, second: u64) -> Option<String> {
    let text = fabtests::size::text(first);
    (tool == CommandTool::Fabtests && text == fabtests::size::text(second)).then_some(text)
}

/// Describes a result line of `tool`.
fn expected_results(tool: CommandTool) -> &'static str {
    match tool {
        CommandTool::NcclTests => "a result of nccl-tests: a line that begins with a size and a count",
        CommandTool::Perftest => "a result of perftest: a line after a header with #bytes",
        CommandTool::Fabtests => "a result of fabtests: a line after a header with MB/sec and usec/xfer",
        CommandTool::UcxPerftest => {
            "a result of ucx_perftest: a line that begins with Final:, or the only row with the option -f"
        }
        CommandTool::Nixlbench => "a result of nixlbench: a line after a header with Block Size (B)",
        CommandTool::TransferEngineBench => "a result of transfer_engine_bench: a line with Test completed",
        CommandTool::Regex => "a line that matches the pattern",
    }
}

/// The last non-empty lines of an output, with at most 300 characters in total.
pub fn end_of(output: &str) -> String {
    const MAX_CHARACTERS: usize = 300;
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let text = lines[lines.len().saturating_sub(3)..].join(" | ");
    let characters: Vec<char> = text.chars().map(printable).collect();
    characters[characters.len().saturating_sub(MAX_CHARACTERS)..]
        .iter()
        .collect()
}

fn printable(character: char) -> char {
    if is_hidden(character) { ' ' } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_empty_output_with_a_specific_error() {
        for tool in CommandTool::ALL {
            assert_eq!(parse(tool, None, " \n\n"), Err(ParseError::Nothing), "{tool:?}");
        }
    }

    #[test]
    fn rejects_output_of_another_program() {
        for tool in CommandTool::ALL
            .into_iter()
            .filter(|tool| *tool != CommandTool::Regex)
        {
            let error = parse(tool, None, "Segmentation fault\n64 1 2 3\n").unwrap_err();
            assert!(matches!(error, ParseError::NoResult { .. }), "{tool:?}: {error}");
            assert!(error.to_string().contains("64 1 2 3"), "{tool:?}: {error}");
        }
    }

    #[test]
    fn result_for_a_size_must_be_unique() {
        let row = |bytes| Row {
            size: Some(row::PrintedSize::exact(bytes)),
            ..Row::default()
        };
        let rows = [row(64), row(128), row(128)];
        assert!(select(&rows, 64).is_ok());
        assert_eq!(
            select(&rows, 128),
            Err(ParseError::Ambiguous { size: 128, count: 2 })
        );
        assert_eq!(
            select(&rows, 32).unwrap_err().to_string(),
            "there is no result for 32 bytes, only for 64, 128, 128"
        );
        assert!(select(&[Row::default()], 7).is_ok(), "a result without a size");
    }

    #[test]
    fn end_of_output_is_limited_to_300_characters() {
        assert_eq!(end_of("a\n\nb\nc\u{7}\nd\n"), "b | c  | d");
        assert_eq!(end_of(&"x".repeat(1000)).len(), 300);
        assert_eq!(end_of(""), "");
    }
}
