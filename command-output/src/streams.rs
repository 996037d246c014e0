//! Chooses the process whose results are read from the output of several.

use crds::v1alpha1::CommandTool;

use crate::found::{UnknownLines, shown};
use crate::lines::{Line, Lines};
use crate::table::is_row_like;
use crate::{
    ParseError, ParsedOutput, corruption, fabtests, nccl_tests, nixlbench, perftest, transfer_engine_bench,
    ucx_perftest,
};

/// Reads the results of the only process in `lines` that printed results or a table header. Lines of other processes are
/// read only as log lines.
///
/// # Errors
/// Returns an error if several processes printed results, or a line of another process contains a part of a result.
pub fn parse(tool: CommandTool, lines: &Lines<'_>) -> Result<ParsedOutput, ParseError> {
    if let Some(line) = lines
        .lines
        .iter()
        .find(|line| corruption::is_reported(tool, &line.text))
    {
        return Err(ParseError::wrong_data(&line.text));
    }
    let mut chosen: Option<(&str, ParsedOutput)> = None;
    let mut others = Vec::new();
    for (stream, own) in lines.streams.iter().zip(lines.by_stream()) {
        let mut found = ParsedOutput::default();
        parse_stream(tool, &own, &mut found)?;
        let has_results = !found.rows.is_empty() || !found.headers.is_empty() || found.unread.is_some();
        match &chosen {
            _ if !has_results => others.push((own, found)),
            None => chosen = Some((&stream.tag, found)),
            Some((first, _)) => {
                return Err(ParseError::SeveralProcesses {
                    first: shown(first),
                    second: shown(&stream.tag),
                });
            }
        }
    }
    let Some((_, mut chosen)) = chosen else {
        return Ok(ParsedOutput::default());
    };
    for (own, found) in others {
        let part = own
            .iter()
            .find(|line| chosen.columns > 0 && is_part(&line.text, chosen.columns));
        if let Some(line) = part {
            chosen.add_unread(line);
        }
        chosen.unknown.append(found.unknown);
    }
    Ok(chosen)
}

/// Whether a line of a process that did not print the table may contain a part of a row.
fn is_part(text: &str, columns: usize) -> bool {
    !text.trim_start().starts_with('#') && is_row_like(text, columns)
}

/// Lines that the parser of `tool` neither uses nor knows to be unimportant. If it fails, these are the lines before the
/// one at which it fails.
pub fn unknown_lines(tool: CommandTool, lines: &Lines<'_>) -> UnknownLines {
    let mut unknown = UnknownLines::default();
    for own in lines.by_stream() {
        let mut found = ParsedOutput::default();
        // The caller already knows the error, if any.
        let _ = parse_stream(tool, &own, &mut found);
        unknown.append(found.unknown);
    }
    unknown
}

/// Adds what the lines of one process contain to `found`.
fn parse_stream(tool: CommandTool, lines: &[&Line<'_>], found: &mut ParsedOutput) -> Result<(), ParseError> {
    match tool {
        CommandTool::NcclTests => nccl_tests::parse(lines, found),
        CommandTool::Perftest => perftest::parse(lines, found),
        CommandTool::Fabtests => fabtests::parse(lines, found),
        CommandTool::UcxPerftest => ucx_perftest::parse(lines, found),
        CommandTool::Nixlbench => nixlbench::parse(lines, found),
        CommandTool::TransferEngineBench => transfer_engine_bench::parse(lines, found),
        // Its pattern applies to lines as they were printed.
        CommandTool::Regex => Ok(()),
    }
}
