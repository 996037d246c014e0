//! Output of ucx_perftest: the `Final:` row, or the only row if `-f` is set. The latency is the overall latency, which
//! ucx_perftest prints only for latency tests; bandwidth tests print an overhead instead. An MB is 2^20 bytes
//! (src/tools/perf/perftest_run.c). The `-v` output has no units, so only its bandwidth is read.

use crate::table::{number, starts_with_whole_number, whole_number};
use crate::{ParseError, ParsedOutput, Row};

const MEGABYTE: f64 = 1_048_576.0;
const EXPECTED: &str = "latency (usec) or overhead (usec), and bandwidth (MB/s)";
/// Number of values in a row: the iterations, three durations, two bandwidths and two message rates.
const VALUES: usize = 8;

/// Quantity in the first group of columns.
#[derive(Clone, Copy)]
enum Header {
    /// Latencies.
    Latency,
    /// Overheads of posts, which are not latencies.
    Overhead,
    /// Unknown, because output that is meant for other programs has no header.
    Csv,
}

/// Reads the final row, which the program prints at the end.
pub fn parse(output: &str) -> Result<ParsedOutput, ParseError> {
    let mut found = ParsedOutput::default();
    let mut header = None;
    let mut final_only = false;
    for line in output.lines() {
        if line.contains("(usec)") || line.contains("bandwidth (") {
            header = Some(parse_header(line)?);
            found.add_header(line);
        } else if line.starts_with("iterations,") {
            header = Some(Header::Csv);
            found.add_header(line);
        } else if line.starts_with('|') && line.contains("# iterations") {
            final_only = line.contains(" Test ");
        } else if let Some(header) = header {
            let is_final = line.starts_with("Final:") || (final_only && starts_with_whole_number(line));
            found.add_row(parse_row(line, header, final_only)?, line, is_final);
        }
    }
    Ok(found)
}

fn parse_header(line: &str) -> Result<Header, ParseError> {
    let is_known = line.contains("bandwidth (MB/s)");
    let header = match () {
        () if line.contains("latency (usec)") => Some(Header::Latency),
        () if line.contains("overhead (usec)") => Some(Header::Overhead),
        () => None,
    };
    header.filter(|_| is_known).ok_or_else(|| ParseError::Unit {
        expected: EXPECTED,
        found: line.trim().to_owned(),
    })
}

/// Parses the final row in `line`. Returns `None` if the line is an intermediate row, a border or a log line.
fn parse_row(line: &str, header: Header, final_only: bool) -> Result<Option<Row>, ParseError> {
    let separator =
        |character: char| character.is_whitespace() || (matches!(header, Header::Csv) && character == ',');
    let words: Vec<&str> = line.split(separator).filter(|word| !word.is_empty()).collect();
    let values = match (words.first(), header) {
        (Some(&"Final:"), _) => &words[1..],
        (Some(first), Header::Csv) if first.parse::<u64>().is_ok() => &words[..],
        (Some(first), _) if final_only && first.parse::<u64>().is_ok() => &words[..],
        _ => return Ok(None),
    };
    if values.len() != VALUES {
        return Ok(None);
    }
    let overall_latency = number(values[3], line)?;
    Ok(Some(Row {
        size: None,
        latency: match header {
            Header::Latency => Some(overall_latency.scaled(1e3)),
            Header::Overhead | Header::Csv => None,
        },
        bandwidth: Some(number(values[5], line)?.scaled(MEGABYTE)),
        operations: Some(whole_number(values[0], line)?),
        payload_bytes: None,
    }))
}
