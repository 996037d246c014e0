//! Chooses the process whose results are read from the output of several.

use crds::v1alpha1::CommandTool;

use crate::found::shown;
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
        return Err(ParseError::WrongData {
            line: shown(&line.text),
        });
    }
    let mut chosen: Option<(&str, ParsedOutput)> = None;
    let mut others = Vec::new();
    for (stream, own) in lines.streams.iter().zip(lines.by_stream()) {
        let found = parse_stream(tool, &own)?;
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

fn parse_stream(tool: CommandTool, lines: &[&Line<'_>]) -> Result<ParsedOutput, ParseError> {
    match tool {
        CommandTool::NcclTests => nccl_tests::parse(lines),
        CommandTool::Perftest => perftest::parse(lines),
        CommandTool::Fabtests => fabtests::parse(lines),
        CommandTool::UcxPerftest => ucx_perftest::parse(lines),
        CommandTool::Nixlbench => nixlbench::parse(lines),
        CommandTool::TransferEngineBench => transfer_engine_bench::parse(lines),
        // Its pattern applies to lines as they were printed.
        CommandTool::Regex => Ok(ParsedOutput::default()),
    }
}
