//! Output of fi_pingpong (libfabric) and of fabtests programs: a table that follows a header with `MB/sec` and
//! `usec/xfer`, or, if a fabtests program is run with `-m`, lines such as `- { xfer_size: 64, ... }`.
//!
//! An MB is 10^6 bytes, and a transfer is one message in one direction (`show_perf` in fabtests/common/shared.c and in
//! util/pingpong.c). `printf` rounds both values. Sizes above 1023 bytes are cut off ([`size`]).

mod machine_readable;
pub mod size;

use crate::lines::Line;
use crate::row::PrintedSize;
use crate::table::{Columns, decimals, is_library_line, is_row_like, number};
use crate::{ParseError, ParsedOutput, Printed, Row};

const COLUMNS: [&str; 10] = [
    "name",
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
/// Decimals of all values of the table.
const DECIMALS: usize = 2;
/// Relative difference by which the product of latency and bandwidth may differ from the size in addition to the
/// resolution, because fabtests computes the latency with single precision.
const SLACK: f64 = 1e-6;

/// Reads all rows. The programs print nothing after the rows.
pub fn parse(lines: &[&Line<'_>], found: &mut ParsedOutput) -> Result<(), ParseError> {
    let mut columns: Option<Columns> = None;
    let mut is_after_mark = false;
    for line in lines {
        let text = line.text.trim();
        if text.contains("xfer_size:") {
            match machine_readable::parse(text)? {
                Some(row) => found.add_row(row),
                None => found.add_unread(line),
            }
        } else if is_after_mark && text.ends_with(':') {
            program(text, found);
        } else if is_header(text) {
            let header = header(text)?;
            found.add_header(text, header.len());
            if header.position(&["#sent"]).is_some() {
                found.tests.push("fi_pingpong".to_owned());
            }
            columns = Some(header);
        } else if text.is_empty() || text == "---" || text == "Data check OK" {
        } else if let Some(row) = columns
            .as_ref()
            .and_then(|columns| row(text, columns).transpose())
        {
            found.add_row(row?);
        } else if columns
            .as_ref()
            .is_some_and(|columns| is_part_of_row(text, columns))
        {
            found.add_unread(line);
        } else if !is_library_line(text) {
            found.unknown.add(line);
        }
        is_after_mark = text == "---";
    }
    Ok(())
}

/// Reads the program and its arguments, which the option `-m` prints before the results.
fn program(text: &str, found: &mut ParsedOutput) {
    let mut words = text.trim_end_matches(':').split_whitespace();
    let path = words.next().unwrap_or_default();
    let program = path.rsplit('/').next().unwrap_or_default();
    found.tests.push(program.to_owned());
    found.headers.push("---".to_owned());
    let arguments: Vec<&str> = words.collect();
    found.add_setting("arguments", &arguments.join(" "), false);
}

fn is_header(text: &str) -> bool {
    text.split_whitespace().any(|word| word == "bytes") && text.contains("total") && text.contains("time")
}

fn header(text: &str) -> Result<Columns, ParseError> {
    let columns = Columns::find(text, &COLUMNS)?;
    let is_known = columns.position(&["MB/sec"]).is_some() && columns.position(&["usec/xfer"]).is_some();
    is_known
        .then_some(columns)
        .ok_or_else(|| ParseError::unit(EXPECTED, text))
}

/// Whether `text` contains a part of a row. The size in it may have a suffix.
fn is_part_of_row(text: &str, columns: &Columns) -> bool {
    let starts_with_size = text
        .split_whitespace()
        .next()
        .is_some_and(|word| size::parse(word).is_some());
    starts_with_size || is_row_like(text, columns.len())
}

/// Parses the row in `text`. Returns `None` if the text is not exactly one whole row.
fn row(text: &str, columns: &Columns) -> Result<Option<Row>, ParseError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() != columns.len() {
        return Ok(None);
    }
    let word = |name: &str| columns.position(&[name]).and_then(|at| words.get(at).copied());
    let Some(size) = word("bytes").and_then(size::parse) else {
        return Ok(None);
    };
    let time = word("time").and_then(|time| time.strip_suffix('s'));
    let values = [time, word("MB/sec"), word("usec/xfer"), word("Mxfers/sec")];
    let has_form = |value: &str| value == "inf" || decimals(value) == DECIMALS;
    if !values.iter().flatten().all(|value| has_form(value)) || time.is_none() {
        return Ok(None);
    }
    // If no message was lost, fi_pingpong prints the number of acknowledged messages as `=1k`; otherwise, it prints the
    // difference from the number of sent messages.
    if word("#ack").is_some_and(|acknowledged| !acknowledged.starts_with('=')) {
        return Err(ParseError::wrong_data(text));
    }
    let value = |name: &str| match word(name) {
        // The elapsed time is below the resolution of the clock, so the rate has no known limit.
        Some("inf") => Ok(Printed::UNRESOLVED),
        word => number(word.unwrap_or_default(), text),
    };
    let found = Transfers {
        size,
        count: word("#sent").or(word("iters")).and_then(size::count),
        total: word("total").and_then(size::parse),
        seconds: number(time.unwrap_or_default(), text)?,
        megabytes_per_second: value("MB/sec")?,
        microseconds: value("usec/xfer")?,
    };
    found.into_row(text).map(Some)
}

/// Values of a row, which depend on each other.
struct Transfers {
    size: PrintedSize,
    /// Smallest and largest number of iterations.
    count: Option<(u64, u64)>,
    /// Bytes of all transfers.
    total: Option<PrintedSize>,
    seconds: Printed,
    megabytes_per_second: Printed,
    microseconds: Printed,
}

impl Transfers {
    /// Creates the result, unless the values contradict each other: the bandwidth is the size divided by the time of one
    /// transfer, the total is a multiple of the size and the number of iterations, and so is the elapsed time.
    fn into_row(self, text: &str) -> Result<Row, ParseError> {
        let contradiction = |problem: &'static str| ParseError::contradiction(text, problem);
        let size = range(self.size.bytes, self.size.most);
        let is_resolved = self.megabytes_per_second.value > 0.0 && self.microseconds.value > 0.0;
        if is_resolved
            && !self
                .megabytes_per_second
                .times(self.microseconds)
                .agrees(size, SLACK)
        {
            return Err(contradiction("MB/sec times usec/xfer is not the number of bytes"));
        }
        let iterations = self.count.map(|(least, most)| range(least, most));
        // A ping-pong transfers each message twice.
        let directions = [1.0, 2.0].map(Printed::exact);
        let is_total = |total: PrintedSize, iterations: Printed| {
            let total = range(total.bytes, total.most);
            directions
                .iter()
                .any(|directions| size.times(iterations).times(*directions).agrees(total, 0.0))
        };
        if let (Some(total), Some(iterations)) = (self.total, iterations)
            && !is_total(total, iterations)
        {
            return Err(contradiction(
                "the total is not the number of bytes times the iterations",
            ));
        }
        let elapsed = |directions: &Printed| {
            let transfers = iterations.unwrap_or(Printed::UNRESOLVED).times(*directions);
            let seconds = transfers.times(self.microseconds).scaled(1e-6);
            seconds.agrees(self.seconds, SLACK)
        };
        let is_consistent = directions.iter().any(elapsed);
        Ok(Row {
            size: Some(self.size),
            implied_size: None,
            latency: Some(self.microseconds.scaled(1e3)),
            bandwidth: Some(self.megabytes_per_second.scaled(1e6)),
            // A count that contradicts the elapsed time is unknown.
            operations: self.count.map(|(least, _)| least).filter(|_| is_consistent),
            payload_bytes: None,
        })
    }
}

/// Range of whole numbers.
fn range(least: u64, most: u64) -> Printed {
    Printed {
        value: least as f64,
        least: least as f64,
        most: most as f64,
    }
}
