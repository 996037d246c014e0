//! Output of ucx_perftest: the `Final:` row, or all rows if `-f` is set. The latency is the overall latency, which
//! ucx_perftest prints only for latency tests; bandwidth tests print an overhead instead. An MB is 2^20 bytes
//! (src/tools/perf/perftest_run.c). `printf` rounds all values. The `-v` output has no units, so only its bandwidth is read.

use crate::found::shown;
use crate::lines::Line;
use crate::row::PrintedSize;
use crate::table::{decimals, is_library_line, is_row_like, number};
use crate::{ParseError, ParsedOutput, Printed, Row};

const MEGABYTE: f64 = 1_048_576.0;
const EXPECTED: &str = "latency (usec) or overhead (usec), and bandwidth (MB/s)";
/// Number of values in a row: the iterations, three durations, two bandwidths and two message rates.
const VALUES: usize = 8;
/// Decimals of these values.
const DECIMALS: [usize; VALUES] = [0, 3, 3, 3, 2, 2, 0, 0];
/// Number of values in the row of a test with several threads: the iterations, and the overall duration, bandwidth and
/// message rate.
const THREADS_VALUES: usize = 4;
/// Decimals of these values.
const THREADS_DECIMALS: [usize; THREADS_VALUES] = [0, 3, 2, 0];
/// Positions of the averages since the last row that was printed during the test: of the duration, the bandwidth and the
/// message rate.
const RECENT: [usize; 3] = [2, 4, 6];
/// What `printf` prints for these averages if no iteration or no time has passed since that row.
const UNDEFINED: [&str; 3] = ["inf", "nan", "-nan"];
/// Relative difference by which the message rate may differ from the inverse of the latency, and the size from one row to
/// another, in addition to the resolution.
const SLACK: f64 = 0.05;

/// Quantity in the first group of columns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quantity {
    /// Latencies.
    Latency,
    /// Overheads of posts, which are not latencies.
    Overhead,
    /// Unknown, because output that is meant for other programs has no header.
    Csv,
}

/// Table that is being read.
struct Table {
    quantity: Quantity,
    /// Whether the program prints only final rows, without `Final:`.
    final_only: bool,
    /// Number of names of batch files before the values of a CSV row.
    names: usize,
    /// Size in bytes, if the program printed it.
    size: Option<u64>,
}

/// Reads the final rows, which the program prints at the end.
pub fn parse(lines: &[&Line<'_>], found: &mut ParsedOutput) -> Result<(), ParseError> {
    let mut table: Option<Table> = None;
    let mut size = None;
    for line in lines {
        let text = line.text.trim();
        let is_frame = text.starts_with('+') || (text.starts_with('|') && !text.contains('('));
        if text.contains("(usec)") || text.contains("bandwidth (") {
            let quantity = parse_header(text)?;
            found.add_header(text, VALUES);
            table = Some(Table {
                quantity,
                final_only: false,
                names: 0,
                size,
            });
        } else if let Some((names, _)) = text
            .split_once("iterations,")
            .filter(|_| text.contains("avg_lat"))
        {
            found.add_header(text, VALUES);
            let names = names.matches(',').count();
            table = Some(Table {
                quantity: Quantity::Csv,
                final_only: true,
                names,
                size,
            });
        } else if text.starts_with('|') && text.contains("# iterations") {
            if let Some(table) = &mut table {
                table.final_only = text.contains(" Test ");
            }
        } else if text.is_empty() {
        } else if is_frame || text.starts_with('|') {
            size = banner(text, found).or(size);
        } else if let Some(table) = &table {
            match row(text, table)? {
                Parsed::Final { row, has_other_name } => {
                    if has_other_name {
                        found.notes.push(format!(
                            "the number at the end of the name of a test is not its size: the bandwidth divided by the \
                             message rate is another one: `{}`",
                            shown(text)
                        ));
                    }
                    found.add_row(row);
                }
                Parsed::Intermediate => {}
                Parsed::Other if text.starts_with("Final") || is_row_like(text, VALUES) => {
                    found.add_unread(line)
                }
                Parsed::Other if is_library_line(text) => {}
                Parsed::Other => found.unknown.add(line),
            }
        } else if !is_library_line(text) {
            found.unknown.add(line);
        }
    }
    Ok(())
}

/// Reads a line of the banner, such as `| Test: tag match latency |`. Returns the size if the line contains it.
fn banner(text: &str, found: &mut ParsedOutput) -> Option<u64> {
    let inner = text.trim_matches(['|', ' ']);
    let (name, value) = inner
        .split_once(':')
        .map(|(name, value)| (name.trim(), value.trim()))?;
    match name {
        "Test" => found.tests.push(value.to_owned()),
        "API" => found.add_setting("API", value, true),
        "Data layout" => found.add_setting("data layout", value, false),
        "Send memory" => found.add_setting("send memory", value, false),
        "Recv memory" => found.add_setting("recv memory", value, false),
        "Window size" => found.add_setting("window size", value, false),
        "Message size" => return value.parse().ok(),
        _ => {}
    }
    None
}

fn parse_header(line: &str) -> Result<Quantity, ParseError> {
    let is_known = line.contains("bandwidth (MB/s)");
    let quantity = match () {
        () if line.contains("latency (usec)") => Some(Quantity::Latency),
        () if line.contains("overhead (usec)") => Some(Quantity::Overhead),
        () => None,
    };
    quantity
        .filter(|_| is_known)
        .ok_or_else(|| ParseError::unit(EXPECTED, line))
}

/// Content of a line of the table.
enum Parsed {
    /// A final row.
    Final {
        row: Row,
        /// Whether the name of the test ends with a number that cannot be its size.
        has_other_name: bool,
    },
    /// A row that the program prints during the test.
    Intermediate,
    /// Another line.
    Other,
}

/// Parses the row in `line`.
fn row(line: &str, table: &Table) -> Result<Parsed, ParseError> {
    let is_csv = table.quantity == Quantity::Csv;
    // Rows that are printed during the test begin with the number of the thread.
    let thread = line
        .strip_prefix("[thread ")
        .and_then(|rest| rest.split_once(']'));
    let is_thread = thread.is_some_and(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
    let line = thread.filter(|_| is_thread).map_or(line, |(_, rest)| rest.trim());
    let words: Vec<&str> = match is_csv {
        true => line.split(',').collect(),
        false => line.split_whitespace().collect(),
    };
    let is_digit = |first: char| first.is_ascii_digit();
    let values = match words.first() {
        Some(&"Final:") => &words[1..],
        // The name of the test in a batch file is the first word, or absent.
        Some(first) if !is_csv && table.final_only && !first.starts_with(is_digit) => &words[1..],
        _ => words.get(table.names..).unwrap_or_default(),
    };
    // The option -N prints counts and rates with separators.
    let plain: Vec<String> = values.iter().map(|value| without_separators(value)).collect();
    let has_form = |decimals_of: &[usize]| {
        let mut values = plain.iter().zip(decimals_of).enumerate();
        values.all(|(at, (value, expected))| match is_undefined(value) {
            true => plain.len() == VALUES && RECENT.contains(&at),
            false => Printed::rounded(value).is_some() && decimals(value) == *expected,
        })
    };
    let (latency, bandwidth, rate) = match plain.len() {
        VALUES if has_form(&DECIMALS) => (3, 5, 7),
        THREADS_VALUES if has_form(&THREADS_DECIMALS) => (1, 2, 3),
        _ => return Ok(Parsed::Other),
    };
    if !table.final_only && words.first() != Some(&"Final:") || is_thread {
        return Ok(Parsed::Intermediate);
    }
    let value = |at: usize| number(plain.get(at).map_or("", String::as_str), line);
    let (latency, bandwidth, rate) = (value(latency)?, value(bandwidth)?.scaled(MEGABYTE), value(rate)?);
    let contradiction = |problem: &'static str| ParseError::contradiction(line, problem);
    // A latency test has one message in flight, so the rate is the inverse of the latency.
    let is_latency = table.quantity == Quantity::Latency;
    let per_second = latency.scaled(1e-6).times(rate);
    // A test that measured nothing prints only zeros.
    let is_measured = !(latency.is_below_resolution() && rate.is_below_resolution());
    if is_latency && is_measured && plain.len() == VALUES && !per_second.agrees(Printed::exact(1.0), SLACK) {
        return Err(contradiction(
            "the message rate is not the inverse of the latency",
        ));
    }
    // At the end of the unidirectional tests of UCT and of some tests of UCP, the program counts one more message, without
    // bytes (`ucx_perf_update` in src/tools/perf/lib/uct_tests.cc). A row of several threads does not report how many threads
    // did so.
    let extra = match plain.len() {
        VALUES => 1.0 / value(0)?.value.max(1.0),
        _ => SLACK,
    };
    if plain.len() == VALUES && !plain.iter().any(|value| is_undefined(value)) {
        // Both message sizes are the bandwidth divided by the rate. Since the last row during the test, there may have been
        // one message with bytes and one without, or only the latter.
        let (recent, slack) = (value(4)?, if is_latency { SLACK } else { 1.0 + SLACK });
        let has_bytes = is_latency || !recent.is_below_resolution();
        let first = recent.scaled(MEGABYTE).times(rate);
        if has_bytes && !first.agrees(bandwidth.times(value(6)?), slack) {
            return Err(contradiction(
                "the bandwidths and the message rates do not have the same ratio",
            ));
        }
    }
    if let Some(size) = table.size
        && !rate
            .times(Printed::exact(size as f64))
            .agrees(bandwidth, SLACK + extra)
    {
        return Err(contradiction(
            "the bandwidth is not the message size times the message rate",
        ));
    }
    // One average divided by the other, so the resolution and the extra message are the only uncertainties
    // (`ucx_perf_calc_result` in src/tools/perf/lib/libperf.c).
    let implied = PrintedSize::implied(bandwidth, rate, extra);
    let named: Option<u64> = words
        .first()
        .filter(|_| values.len() < words.len())
        .and_then(|name| name.rsplit('/').next()?.parse().ok());
    let fitting = named.filter(|size| implied.matches(*size));
    let size = fitting.or(table.size).map(PrintedSize::exact);
    Ok(Parsed::Final {
        row: Row {
            size,
            implied_size: size.is_none().then_some(implied),
            latency: is_latency.then(|| latency.scaled(1e3)),
            bandwidth: Some(bandwidth),
            operations: Some(value(0)?.value as u64),
            payload_bytes: None,
        },
        has_other_name: named != fitting,
    })
}

/// Whether `value` is an average over no iterations or no time.
fn is_undefined(value: &str) -> bool {
    UNDEFINED.contains(&value)
}

/// Removes separators between groups of three digits. Returns the text unchanged if they are at other places.
fn without_separators(text: &str) -> String {
    let mut groups = text.split(',');
    let first = groups.next().unwrap_or_default();
    let is_group = |group: &str| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
    let is_separated = (1..=3).contains(&first.len()) && groups.clone().all(is_group);
    match is_separated {
        true => text.replace(',', ""),
        false => text.to_owned(),
    }
}
