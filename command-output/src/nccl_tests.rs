//! Output of nccl-tests programs, such as all_reduce_perf. The latency is the time of an out-of-place operation, and
//! the bandwidth is its bus bandwidth, which is comparable with the link rate (doc/PERFORMANCE.md in nccl-tests). A GB
//! is 10^9 bytes.

use crate::row::PrintedSize;
use crate::table::{number, starts_with_whole_number, whole_number};
use crate::{ParseError, ParsedOutput, Row};

const EXPECTED: &str = "time (us), algbw (GB/s) and busbw (GB/s)";

/// Number of columns of a row, and positions of the out-of-place values.
struct Header {
    columns: usize,
    time: usize,
    busbw: usize,
    wrong: usize,
}

/// Reads all rows. mpirun may print a prefix such as `[1,0]<stdout>:` before each line.
pub fn parse(output: &str) -> Result<ParsedOutput, ParseError> {
    let mut found = ParsedOutput::default();
    let mut header: Option<Header> = None;
    for line in output.lines() {
        let line = line.split_once("<stdout>:").map_or(line, |(_, rest)| rest).trim();
        if let Some(comment) = line.strip_prefix('#') {
            if comment.contains("Out of bounds values") && !comment.trim_end().ends_with("OK") {
                return corrupted_data(line);
            }
            let words: Vec<&str> = comment.split_whitespace().collect();
            if words.first() == Some(&"size") {
                header = Some(parse_header(&words).ok_or_else(|| unit_error(line))?);
                found.add_header(line);
            } else if words.first() == Some(&"(B)") && !has_units(&words) {
                return Err(unit_error(line));
            }
            found.add_end(comment.contains("Avg bus bandwidth"));
        } else if let Some(header) = &header {
            let has_size = starts_with_whole_number(line);
            found.add_row(parse_row(line, header)?, line, has_size);
        }
    }
    Ok(found)
}

fn parse_header(words: &[&str]) -> Option<Header> {
    let position = |names: &[&str]| words.iter().position(|word| names.contains(word));
    Some(Header {
        columns: words.len(),
        time: position(&["time"])?,
        busbw: position(&["busbw"])?,
        wrong: position(&["#wrong", "error"])?,
    })
}

fn has_units(words: &[&str]) -> bool {
    let units = ["(us)", "(GB/s)", "(GB/s)"];
    words.get(2..5) == Some(&units) || words.windows(3).any(|window| window == units)
}

/// Parses the row in `line`. Returns `None` if the line is something else, such as an NCCL log line.
fn parse_row(line: &str, header: &Header) -> Result<Option<Row>, ParseError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_row = words.len() == header.columns && words[0].parse::<u64>().is_ok();
    if !is_row {
        return Ok(None);
    }
    // A program that does not check its data prints N/A. Older versions print the largest error instead of a count.
    if words[header.wrong].parse::<u64>().is_ok_and(|count| count > 0) {
        return corrupted_data(line);
    }
    Ok(Some(Row {
        size: Some(PrintedSize::exact(whole_number(words[0], line)?)),
        latency: Some(number(words[header.time], line)?.scaled(1e3)),
        bandwidth: Some(number(words[header.busbw], line)?.scaled(1e9)),
        operations: None,
        payload_bytes: None,
    }))
}

fn unit_error(line: &str) -> ParseError {
    ParseError::Unit {
        expected: EXPECTED,
        found: line.to_owned(),
    }
}

fn corrupted_data<R>(line: &str) -> Result<R, ParseError> {
    Err(ParseError::WrongData {
        line: line.to_owned(),
    })
}
