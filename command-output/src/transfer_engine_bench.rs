//! Output of transfer_engine_bench (Mooncake): the line `Test completed: duration 2.00, batch count 1251, throughput
//! 0.33 GB/s`, in the unit set by `--report_unit`. It prints neither a size nor a latency.

use crds::v1alpha1::RateUnit;

use crate::table::number;
use crate::{ParseError, ParsedOutput, Row};

const MARKER: &str = "Test completed: duration ";
const EXPECTED: &str = "a throughput in one of GB/s, GiB/s, Gb/s, MB/s, MiB/s, Mb/s, KB/s, KiB/s and Kb/s";

/// Reads the result, which the program prints last.
pub fn parse(output: &str) -> Result<ParsedOutput, ParseError> {
    let results = output
        .lines()
        .filter_map(|line| Some((line, line.split_once(MARKER)?.1)));
    let rows: Result<_, _> = results.map(|(line, rest)| parse_row(line, rest)).collect();
    Ok(ParsedOutput::from_rows(rows?))
}

fn parse_row(line: &str, rest: &str) -> Result<Row, ParseError> {
    let other = || ParseError::Unit {
        expected: EXPECTED,
        found: line.trim().to_owned(),
    };
    let (duration, rest) = rest.split_once(", batch count ").ok_or_else(other)?;
    let (_, throughput) = rest.split_once(", throughput ").ok_or_else(other)?;
    let (text, unit) = throughput.trim().split_once(' ').ok_or_else(other)?;
    let name = unit.strip_suffix("/s").ok_or_else(other)?;
    let mut units = RateUnit::ALL.into_iter();
    let unit = units.find(|unit| unit.to_string() == name).ok_or_else(other)?;
    let bandwidth = number(text, line)?.scaled(unit.bytes_per_second());
    let moved = bandwidth.least * number(duration, line)?.least;
    Ok(Row {
        size: None,
        latency: None,
        bandwidth: Some(bandwidth),
        operations: None,
        payload_bytes: Some(moved as u64).filter(|bytes| *bytes > 0),
    })
}
