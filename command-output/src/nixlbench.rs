//! Output of nixlbench: a table that follows a line with `Block Size (B)`. The latency is the average of a block, and a
//! GB is 10^9 bytes (`printStats` in benchmark/nixlbench/src/utils/utils.cpp). All values are rounded.

use crate::layout::{Layout, SHIFTED, compare, word_positions};
use crate::lines::Line;
use crate::row::PrintedSize;
use crate::table::{Columns, is_library_line, is_row_like, number, whole_number};
use crate::{ParseError, ParsedOutput, Printed, Row};

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
/// Relative difference by which the bandwidth times the latency may differ from a multiple of the block size in addition
/// to the resolution. With several threads, the numbers of iterations are divided as whole numbers.
const SLACK: f64 = 0.01;
/// Relation between the columns of a row.
const PRODUCT: &str = "the bandwidth times the latency is not the block size times the number of threads";
/// Settings that nixlbench prints before the table and that can change a result.
const SETTINGS: [&str; 12] = [
    "Runtime",
    "Backend",
    "Worker type",
    "Initiator seg type",
    "Target seg type",
    "Scheme",
    "Mode",
    "Op type",
    "Num threads",
    "Num iter",
    "Pipeline depth",
    "Enable pt",
];

/// Reads all rows. The program prints nothing after them.
pub fn parse(lines: &[&Line<'_>], found: &mut ParsedOutput) -> Result<(), ParseError> {
    let mut header: Option<Header> = None;
    let mut known = None;
    for line in lines {
        let text = line.text.trim();
        let is_border = text.len() >= 10 && text.chars().all(|character| matches!(character, '-' | '*'));
        if text.contains("Block Size (B)") {
            let next = Header::parse(&line.text)?;
            found.add_header(text, next.columns.len());
            header = Some(next);
        } else if text.is_empty() || is_border {
        } else if let Some(header) = &header {
            match header.row(&line.text)? {
                Some((row, threads)) => {
                    // All rows are measured with the same number of threads.
                    let is_other = threads
                        .zip(known)
                        .is_some_and(|(threads, known)| threads != known);
                    known = known.or(threads);
                    if is_other {
                        return Err(ParseError::contradiction(text, PRODUCT));
                    }
                    found.add_row(row);
                }
                None if is_row_like(text, header.columns.len()) => found.add_unread(line),
                None if !is_library_line(text) => found.unknown.add(line),
                None => {}
            }
        } else if !setting(text, found) && !is_library_line(text) {
            found.unknown.add(line);
        }
    }
    Ok(())
}

/// Reads the setting in `text`, such as `Op type (--op_type=[READ,WRITE]) : WRITE`. Returns whether it has this form.
fn setting(text: &str, found: &mut ParsedOutput) -> bool {
    let Some((name, value)) = text.split_once(": ").filter(|(name, _)| name.contains("(--")) else {
        return text.ends_with("Configuration");
    };
    let name = name.split(" (--").next().unwrap_or_default();
    let known = SETTINGS.iter().find(|known| known.eq_ignore_ascii_case(name));
    if let Some(known) = known {
        found.add_setting(known, value.trim(), *known == "Op type");
    }
    true
}

/// Header of the table.
struct Header {
    columns: Columns,
    /// Position of the first character of each column.
    starts: Vec<usize>,
}

impl Header {
    fn parse(line: &str) -> Result<Self, ParseError> {
        let columns = Columns::find(line, &COLUMNS)?;
        let required = ["Batch Size", "B/W (GB/Sec)", "Avg Lat. (us)"];
        let is_known = required.iter().all(|name| columns.position(&[name]).is_some());
        if !is_known {
            return Err(ParseError::unit(EXPECTED, line));
        }
        let starts = columns.starts().collect();
        Ok(Self { columns, starts })
    }

    /// Parses the row in `text`, and computes the number of threads. Returns `None` if the text is not exactly one whole
    /// row.
    fn row(&self, text: &str) -> Result<Option<(Row, Option<u64>)>, ParseError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_whole =
            words.len() == self.columns.len() && words[..2].iter().all(|word| word.parse::<u64>().is_ok());
        if !is_whole || words[2..].iter().any(|word| Printed::rounded(word).is_none()) {
            return Ok(None);
        }
        let value = |name: &str| {
            let word = self.columns.position(&[name]).and_then(|at| words.get(at));
            number(word.copied().unwrap_or_default(), text)
        };
        let size = whole_number(words[0], text)?;
        let (bandwidth, latency) = (value("B/W (GB/Sec)")?, value("Avg Lat. (us)")?);
        let threads =
            threads(bandwidth, latency, size).ok_or_else(|| ParseError::contradiction(text, PRODUCT))?;
        let found: Vec<usize> = word_positions(text).into_iter().map(|(start, _)| start).collect();
        if compare(&self.starts, &found) == Layout::Shifted {
            return Err(ParseError::contradiction(text, SHIFTED));
        }
        let row = Row {
            size: Some(PrintedSize::exact(size)),
            implied_size: None,
            latency: Some(latency.scaled(1e3)),
            bandwidth: Some(bandwidth.scaled(1e9)),
            operations: None,
            payload_bytes: None,
        };
        Ok(Some((row, threads)))
    }
}

/// Number of threads: `bandwidth` in GB/s times `latency` in microseconds, divided by `size`. Returns `None` if it is not a
/// whole number, and `Some(None)` if a value is below the resolution, so that the number is unknown.
fn threads(bandwidth: Printed, latency: Printed, size: u64) -> Option<Option<u64>> {
    if bandwidth.value == 0.0 || latency.value == 0.0 || size == 0 {
        return Some(None);
    }
    let product = bandwidth.times(latency).scaled(1e3 / size as f64);
    let threads = product.value.round().max(1.0);
    let is_whole = product.agrees(Printed::exact(threads), SLACK);
    is_whole.then_some(Some(threads as u64))
}
