//! Output of transfer_engine_bench (Mooncake): the line `Test completed: duration 2.00, batch count 1251, throughput
//! 0.33 GB/s`, in the unit set by `--report_unit` and with the number of decimals set by `--report_precision`. It is
//! rounded (mooncake-transfer-engine/example/transfer_engine_bench.cpp). It prints neither a size nor a latency, but a size is at
//! most the bytes of a batch.

use crds::v1alpha1::RateUnit;

use crate::lines::Line;
use crate::row::PrintedSize;
use crate::table::{decimals, is_library_line, number, whole_number};
use crate::{ParseError, ParsedOutput, Printed, Row};

const MARKER: &str = "Test completed: duration ";
const EXPECTED: &str = "a throughput in one of GB/s, GiB/s, Gb/s, MB/s, MiB/s, Mb/s, KB/s, KiB/s and Kb/s";

/// Reads the result, which the program prints last.
pub fn parse(lines: &[&Line<'_>], found: &mut ParsedOutput) -> Result<(), ParseError> {
    for line in lines {
        let text = line.text.trim();
        match text.split_once(MARKER) {
            Some((_, rest)) => match row(text, rest)? {
                Some(row) => found.add_row(row),
                None => found.add_unread(line),
            },
            None if text.contains("Test completed") || text.contains(", throughput ") => {
                found.add_unread(line)
            }
            None if !text.is_empty() && !is_library_line(text) => found.unknown.add(line),
            None => {}
        }
    }
    Ok(())
}

/// Parses the result in `rest`, which follows the marker. Returns `None` if it is not exactly one whole result.
fn row(line: &str, rest: &str) -> Result<Option<Row>, ParseError> {
    let other = || ParseError::unit(EXPECTED, line);
    let parts = rest.split_once(", batch count ").and_then(|(duration, rest)| {
        let (batches, throughput) = rest.split_once(", throughput ")?;
        let (text, unit) = throughput.split_once(' ')?;
        Some((duration, batches, text, unit))
    });
    let Some((duration, batches, text, unit)) = parts else {
        return Ok(None);
    };
    let has_form = unit.split_whitespace().count() == 1 && decimals(duration) == 2;
    let Some(batches) = whole_number(batches, line).ok().filter(|_| has_form) else {
        return Ok(None);
    };
    let name = unit.strip_suffix("/s").ok_or_else(other)?;
    let mut units = RateUnit::ALL.into_iter();
    let unit = units.find(|unit| unit.to_string() == name).ok_or_else(other)?;
    let bandwidth = number(text, line)?.scaled(unit.bytes_per_second());
    let moved = bandwidth.times(number(duration, line)?);
    let implied = PrintedSize::implied(moved, Printed::exact(batches as f64), 0.0);
    Ok(Some(Row {
        size: None,
        implied_size: Some(PrintedSize { bytes: 1, ..implied }),
        latency: None,
        bandwidth: Some(bandwidth),
        operations: None,
        payload_bytes: Some(moved.least as u64).filter(|bytes| *bytes > 0),
    }))
}
