//! Arguments and output of external benchmark commands: [`template`] replaces placeholders in arguments, [`parse`]
//! reads results from the output of a tool, and [`log`] finds in the output which transports the tool's library used.
//! Performs no I/O.
//!
//! Every value was printed by the tool and is converted to nanoseconds or bytes per second. It carries the range of the
//! number before printing ([`Printed`]). Nothing is estimated: a value that a tool does not print is `None`, and output
//! with an unexpected format or unit is an error.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod complete;
mod corruption;
mod error;
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
use error::{
    AmbiguousSnafu, ImpliedSizeSnafu, NoResultSnafu, NothingSnafu, OnlyHeaderSnafu, OtherSizeSnafu,
    PatternSnafu, TooManySnafu,
};
pub use error::{OutputOrigin, ParseError};
use found::ParsedOutput;
pub use found::{Setting, UnknownLines};
use lines::Lines;
use snafu::{OptionExt, ensure};

pub use pattern::{LinePattern, PatternError, PatternProblem, check as check_pattern};
pub use printed::Printed;
pub use row::{PrintedSize, Row, most_payload};

/// Maximum number of bytes that are read from the output of a command.
pub const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// Maximum number of results that are read from the output of a command.
pub const MAX_ROWS: usize = 4096;

/// Reads all results in `output`, in order. `pattern` is the pattern for the `Regex` tool.
///
/// # Errors
/// Returns an error if the output has no result, does not have the format and the units that the tool is known to print, or
/// does not come from exactly one complete run.
pub fn parse(
    tool: CommandTool,
    pattern: Option<&CommandPattern>,
    output: &str,
) -> Result<Vec<Row>, ParseError> {
    let found = find(tool, pattern, output, &Lines::read(output))?;
    complete::check(tool, &found)?;
    Ok(found.rows)
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
        return Err(ParseError::not_whole(line, found.columns));
    }
    if !found.rows.is_empty() {
        return Ok(found);
    }
    let (expected, last) = (expected_results(tool), end_of(output));
    match has_table(tool) && has_marker(tool, lines) {
        true => OnlyHeaderSnafu { tool, last }.fail(),
        false => NoResultSnafu { expected, last }.fail(),
    }
}

/// Whether `tool` prints its results in a table with a header.
fn has_table(tool: CommandTool) -> bool {
    !matches!(tool, CommandTool::TransferEngineBench | CommandTool::Regex)
}

/// Whether `lines` contain text without which there is no result of `tool`: a part of the header of its table, if it prints
/// one.
fn has_marker(tool: CommandTool, lines: &Lines<'_>) -> bool {
    let markers: &[&str] = match tool {
        CommandTool::NcclTests => &["busbw"],
        CommandTool::Perftest => &["#bytes"],
        CommandTool::Fabtests => &["usec/xfer"],
        CommandTool::UcxPerftest => &["(usec)", "avg_lat"],
        CommandTool::Nixlbench => &["Block Size (B)"],
        CommandTool::TransferEngineBench => &["Test completed"],
        CommandTool::Regex => &[""],
    };
    let has_one = |text: &str| markers.iter().any(|marker| text.contains(marker));
    lines.lines.iter().any(|line| has_one(&line.text))
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
/// Returns an error if `size` is outside the row's [`Row::implied_size`].
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
