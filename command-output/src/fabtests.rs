//! Output of fi_pingpong (libfabric) and of fabtests programs: a table that follows a header with `MB/sec` and
//! `usec/xfer`, or, if a fabtests program is run with `-m`, lines such as `- { xfer_size: 64, ... }`.
//!
//! An MB is 10^6 bytes, and a transfer is one message in one direction (`show_perf` in fabtests/common/shared.c and in
//! util/pingpong.c). Sizes above 1023 have a suffix and are rounded.

use crate::row::PrintedSize;
use crate::table::{Columns, number, whole_number};
use crate::{ParseError, ParsedOutput, Row};

const COLUMNS: [&str; 9] = [
    "bytes",
    "iters",
    "#sent",
    "#ack",
    "total",
    "time",
    "MB/sec",
    "usec/xfer",
    "Mxfers/sec",
];
const EXPECTED: &str = "MB/sec and usec/xfer";

/// Reads all rows. The programs print nothing after the rows.
pub fn parse(output: &str) -> Result<ParsedOutput, ParseError> {
    let mut found = ParsedOutput::default();
    let mut columns: Option<Columns> = None;
    for line in output.lines() {
        if line.trim_start().starts_with("- { xfer_size:") {
            found.rows.push(machine_readable(line)?);
        } else if is_header(line) {
            columns = Some(header(line)?);
            found.add_header(line);
        } else if let Some(columns) = &columns {
            let has_size = line
                .split_whitespace()
                .next()
                .is_some_and(|word| size(word).is_some());
            found.add_row(parse_row(line, columns)?, line, has_size);
        }
    }
    Ok(found)
}

fn is_header(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.any(|word| word == "bytes") && line.contains("total") && line.contains("time")
}

fn header(line: &str) -> Result<Columns, ParseError> {
    let columns = Columns::find(line, &COLUMNS)?;
    let is_known = columns.position(&["MB/sec"]).is_some() && columns.position(&["usec/xfer"]).is_some();
    is_known.then_some(columns).ok_or_else(|| ParseError::Unit {
        expected: EXPECTED,
        found: line.trim().to_owned(),
    })
}

/// Parses the row in `line`. Returns `None` if the line is something else. Some programs print the name of the test
/// before the columns.
fn parse_row(line: &str, columns: &Columns) -> Result<Option<Row>, ParseError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(first) = words.len().checked_sub(columns.len()) else {
        return Ok(None);
    };
    let words = &words[first..];
    let is_time = |at| words.get(at).is_some_and(|word: &&str| word.ends_with('s'));
    if !columns.position(&["time"]).is_some_and(is_time) {
        return Ok(None);
    }
    let value = |name: &str| {
        let text = columns.position(&[name]).and_then(|at| words.get(at));
        text.map(|text| number(text, line)).transpose()
    };
    let Some(size) = columns.position(&["bytes"]).and_then(|at| size(words.get(at)?)) else {
        return Ok(None);
    };
    let microseconds = value("usec/xfer")?;
    let rate = value("MB/sec")?;
    // If no message was lost, fi_pingpong prints the number of acknowledged messages as `=1k`; otherwise, it prints the
    // difference from the number of sent messages.
    let acknowledged = columns.position(&["#ack"]).and_then(|at| words.get(at));
    if acknowledged.is_some_and(|text| !text.starts_with('=')) {
        return Err(ParseError::WrongData {
            line: line.trim().to_owned(),
        });
    }
    let count = columns
        .position(&["#sent", "iters"])
        .and_then(|at| words.get(at)?.parse().ok());
    Ok(Some(Row {
        size: Some(size),
        latency: microseconds.map(|value| value.scaled(1e3)),
        bandwidth: rate.map(|value| value.scaled(1e6)),
        // A count with a suffix is rounded down.
        operations: count.or_else(|| {
            let text = words.get(columns.position(&["#sent", "iters"])?)?;
            suffixed_count(text)
        }),
        payload_bytes: None,
    }))
}

/// Parses a size such as `64`, `1k`, `1.5m` or `2g`. The suffixes are powers of 1024.
fn size(text: &str) -> Option<PrintedSize> {
    if let Ok(bytes) = text.parse() {
        return Some(PrintedSize::exact(bytes));
    }
    let factor = match text.chars().last()? {
        'k' => 1_u64 << 10,
        'm' => 1 << 20,
        'g' => 1 << 30,
        _ => return None,
    };
    let number: f64 = text[..text.len() - 1].parse().ok()?;
    (number.is_finite() && number > 0.0)
        .then(|| PrintedSize::from_rounded((number * factor as f64).round() as u64))
}

/// Parses a count such as `1k`, `10m` or `1b`. The suffixes are powers of 1000.
fn suffixed_count(text: &str) -> Option<u64> {
    let factor = match text.chars().last()? {
        'k' => 1_000_u64,
        'm' => 1_000_000,
        'b' => 1_000_000_000,
        _ => return None,
    };
    text[..text.len() - 1].parse::<u64>().ok()?.checked_mul(factor)
}

fn machine_readable(line: &str) -> Result<Row, ParseError> {
    let inner = line.trim().trim_start_matches("- {").trim_end_matches('}');
    let value = |name: &str| {
        let fields = inner.split(',').filter_map(|field| field.split_once(": "));
        let field = fields.map(|(key, value)| (key.trim(), value.trim()));
        let found = field.clone().find(|(key, _)| *key == name);
        found.map(|(_, value)| value).ok_or_else(|| ParseError::Unit {
            expected: EXPECTED,
            found: line.trim().to_owned(),
        })
    };
    Ok(Row {
        size: Some(PrintedSize::exact(whole_number(value("xfer_size")?, line)?)),
        latency: Some(number(value("usec/xfer")?, line)?.scaled(1e3)),
        bandwidth: Some(number(value("MB/sec")?, line)?.scaled(1e6)),
        operations: Some(whole_number(value("iterations")?, line)?),
        payload_bytes: None,
    })
}
