//! Output of nixlbench: a table that follows a line with `Block Size (B)`. The latency is the average of a block, and a
//! GB is 10^9 bytes (benchmark/nixlbench/src/utils/utils.cpp). Timestamps that a CI system adds before each line are
//! skipped.

use crate::row::PrintedSize;
use crate::table::{Columns, number, starts_with_whole_number, whole_number};
use crate::{ParseError, ParsedOutput, Row};

const COLUMNS: [&str; 14] = [
    "Block Size (B)",
    "Batch Size",
    "B/W (GB/Sec)",
    "B/W (MiB/Sec)",
    "B/W (GiB/Sec)",
    "Aggregate B/W (GB/Sec)",
    "Network Util (%)",
    "Avg Lat. (us)",
    "Avg Prep (us)",
    "P99 Prep (us)",
    "Avg Post (us)",
    "P99 Post (us)",
    "Avg Tx (us)",
    "P99 Tx (us)",
];
const EXPECTED: &str = "Block Size (B), Batch Size, B/W (GB/Sec) and Avg Lat. (us)";

/// Reads all rows. The program prints nothing after them.
pub fn parse(output: &str) -> Result<ParsedOutput, ParseError> {
    let mut found = ParsedOutput::default();
    let mut columns: Option<Columns> = None;
    for line in output.lines() {
        if line.contains("Block Size (B)") {
            columns = Some(header(line)?);
            found.add_header(line.split_once(']').map_or(line, |(_, rest)| rest));
        } else if let Some(columns) = &columns {
            let without_time = line
                .trim_start()
                .strip_prefix('[')
                .and_then(|rest| rest.split_once(']'));
            let has_size = starts_with_whole_number(without_time.map_or(line, |(_, rest)| rest));
            found.add_row(parse_row(line, columns)?, line, has_size);
        }
    }
    Ok(found)
}

fn header(line: &str) -> Result<Columns, ParseError> {
    let columns = Columns::find(line, &COLUMNS)?;
    let required = ["Batch Size", "B/W (GB/Sec)", "Avg Lat. (us)"];
    let is_known = required.iter().all(|name| columns.position(&[name]).is_some());
    is_known.then_some(columns).ok_or_else(|| ParseError::Unit {
        expected: EXPECTED,
        found: line.trim().to_owned(),
    })
}

fn parse_row(line: &str, columns: &Columns) -> Result<Option<Row>, ParseError> {
    let words: Vec<&str> = line
        .split_whitespace()
        .filter(|word| !word.starts_with('['))
        .collect();
    if words.len() != columns.len() || words[0].parse::<u64>().is_err() {
        return Ok(None);
    }
    let value = |name: &str| {
        let text = columns.position(&[name]).and_then(|at| words.get(at));
        text.map(|text| number(text, line)).transpose()
    };
    Ok(Some(Row {
        size: Some(PrintedSize::exact(whole_number(words[0], line)?)),
        latency: value("Avg Lat. (us)")?.map(|value| value.scaled(1e3)),
        bandwidth: value("B/W (GB/Sec)")?.map(|value| value.scaled(1e9)),
        operations: None,
        payload_bytes: None,
    }))
}
