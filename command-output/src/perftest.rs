//! Output of perftest programs, such as ib_write_bw and ib_write_lat: a table that follows a line with `#bytes`.
//!
//! In perftest, an MB is 2^20 bytes, which newer versions call MiB, and a Gb is 10^9 bits. The latency is the average,
//! which is half the round-trip time for ib_write_lat and ib_send_lat (perftest_parameters.h and perftest_resources.c).

use crate::row::PrintedSize;
use crate::table::{Columns, number, starts_with_whole_number, whole_number};
use crate::{ParseError, ParsedOutput, Row};

const COLUMNS: [&str; 24] = [
    "#bytes",
    "#sl",
    "#iterations",
    "BW peak[MB/sec]",
    "BW average[MB/sec]",
    "BW peak[MiB/sec]",
    "BW average[MiB/sec]",
    "BW peak[Gb/sec]",
    "BW average[Gb/sec]",
    "MsgRate[Mpps]",
    "BW Port1[MB/sec]",
    "MsgRate Port1[Mpps]",
    "BW Port2[MB/sec]",
    "MsgRate Port2[Mpps]",
    "CPU_Util[%]",
    "t_min[usec]",
    "t_max[usec]",
    "t_typical[usec]",
    "t_avg[usec]",
    "t_stdev[usec]",
    "99% percentile[usec]",
    "99.9% percentile[usec]",
    "tps average",
    "BW Min[Gb/sec]",
];
/// Names of the column with the average bandwidth, and the number of bytes per second in its unit.
const BANDWIDTHS: [(&str, f64); 3] = [
    ("BW average[MB/sec]", 1_048_576.0),
    ("BW average[MiB/sec]", 1_048_576.0),
    ("BW average[Gb/sec]", 1e9 / 8.0),
];
const EXPECTED: &str = "BW average[MB/sec], BW average[MiB/sec], BW average[Gb/sec] or t_avg[usec]";

/// Reads all rows. They are followed by a line of hyphens.
pub fn parse(output: &str) -> Result<ParsedOutput, ParseError> {
    let mut found = ParsedOutput::default();
    let mut columns: Option<Columns> = None;
    for line in output.lines() {
        if line.trim_start().starts_with("#bytes") {
            columns = Some(header(line)?);
            found.add_header(line);
        } else if let Some(columns) = &columns {
            let line = line.trim();
            found.add_end(line.len() >= 10 && line.chars().all(|character| character == '-'));
            found.add_row(parse_row(line, columns)?, line, starts_with_whole_number(line));
        }
    }
    Ok(found)
}

fn header(line: &str) -> Result<Columns, ParseError> {
    let columns = Columns::find(line, &COLUMNS)?;
    let has_result = BANDWIDTHS
        .iter()
        .any(|(name, _)| columns.position(&[name]).is_some())
        || columns.position(&["t_avg[usec]"]).is_some();
    has_result.then_some(columns).ok_or_else(|| ParseError::Unit {
        expected: EXPECTED,
        found: line.trim().to_owned(),
    })
}

/// Parses the row in `line`. Returns `None` if the line is something else, such as a warning about the CPU frequency.
fn parse_row(line: &str, columns: &Columns) -> Result<Option<Row>, ParseError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.len() < columns.len() || words[0].parse::<u64>().is_err() {
        return Ok(None);
    }
    let text = |name: &str| columns.position(&[name]).and_then(|at| words.get(at));
    let value = |name: &str| text(name).map(|text| number(text, line)).transpose();
    let mut bandwidth = None;
    for (name, factor) in BANDWIDTHS {
        bandwidth = bandwidth.or(value(name)?.map(|value| value.scaled(factor)));
    }
    Ok(Some(Row {
        size: Some(PrintedSize::exact(whole_number(words[0], line)?)),
        latency: value("t_avg[usec]")?.map(|value| value.scaled(1e3)),
        bandwidth,
        operations: text("#iterations")
            .map(|text| whole_number(text, line))
            .transpose()?,
        payload_bytes: None,
    }))
}
