//! Output of transfer_engine_bench (Mooncake): the line `Test completed: duration 2.00, batch count 1251, throughput
//! 0.33 GB/s`, in the unit set by `--report_unit`. It prints neither a size nor a latency.

use crds::v1alpha1::RateUnit;

use crate::table::{above_zero, number};
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
    let value = number(text, line)?;
    let bytes_per_second = above_zero(value * unit.bytes_per_second());
    // Both values are rounded to their last digit.
    let least = |value: f64, text: &str| (value - resolution(text) / 2.0).max(0.0);
    let seconds = least(number(duration, line)?, duration);
    let moved = least(value, text) * unit.bytes_per_second() * seconds;
    Ok(Row {
        size: None,
        latency_nanos: None,
        bytes_per_second,
        operations: None,
        payload_bytes: Some(moved as u64).filter(|bytes| *bytes > 0),
    })
}

/// Value of one unit in the last decimal place of `text`.
fn resolution(text: &str) -> f64 {
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    10_f64.powi(-(decimals.min(12) as i32))
}
