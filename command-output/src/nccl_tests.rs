//! Output of nccl-tests programs, such as all_reduce_perf. The latency is the time of an out-of-place operation, and
//! the bandwidth is its bus bandwidth, which is comparable with the link rate (doc/PERFORMANCE.md in nccl-tests). A GB
//! is 10^9 bytes. `printf` rounds all values (`getFloatStr` in src/util.cu).

mod announced;
mod row;

use crate::lines::Line;
use crate::table::{is_library_line, is_row_like};
use crate::{ParseError, ParsedOutput, Printed};
use announced::Announced;
use row::Measurement;

const EXPECTED: &str = "time (us), algbw (GB/s) and busbw (GB/s)";
/// Relative difference by which the printed average may differ from the average of the printed values in addition to the
/// resolution.
const SLACK: f64 = 1e-3;

/// Number of columns of a row, their positions, and those of the out-of-place and in-place values.
struct Header {
    columns: usize,
    /// Position behind the last character of each column.
    ends: Vec<usize>,
    /// Column of the time of the operation; `None` if the program prints the CPU time instead (option `-C`).
    time: Option<usize>,
    algbw: usize,
    busbw: usize,
    /// Column of the bus bandwidth of in-place operations.
    in_place_busbw: Option<usize>,
    /// Columns of the data type, the reduction and the root, of which older versions print only some.
    kind: [Option<usize>; 3],
    /// Columns of the numbers of wrong values.
    wrong: Vec<usize>,
    /// Whether the row ends with the date and time of day, which are two words.
    has_timestamp: bool,
}

/// Reads all rows.
pub fn parse(lines: &[&Line<'_>], found: &mut ParsedOutput) -> Result<(), ParseError> {
    let mut header: Option<Header> = None;
    let mut announced = Announced::default();
    let mut rows: Vec<Measurement> = Vec::new();
    let mut average: Option<Printed> = None;
    let mut ranks = 0;
    for line in lines {
        let text = line.text.as_ref();
        if let Some(comment) = text.trim_start().strip_prefix('#') {
            let comment = comment.trim();
            if comment.starts_with("Out of bounds values") && !comment.ends_with("OK") {
                return Err(ParseError::wrong_data(text));
            }
            let words: Vec<&str> = comment.split_whitespace().collect();
            match words.first() {
                Some(&"size") => {
                    let next = parse_header(text, &words).ok_or_else(|| ParseError::unit(EXPECTED, text))?;
                    found.add_header(text, next.columns);
                    header = Some(next);
                }
                Some(&"(B)") if !has_units(&words) => return Err(ParseError::unit(EXPECTED, text)),
                Some(&"Rank") => ranks += 1,
                Some(&"nThread") => announced.read(&words, found),
                Some(&"Reducing") => announced.reduce(&words),
                Some(&"Avg") => average = average.or_else(|| parse_average(&words)),
                _ => {}
            }
            if let Some(program) = comment.strip_prefix("Collective test starting: ") {
                found.tests.push(program.trim().to_owned());
            }
            found.add_end(comment.starts_with("Avg bus bandwidth"));
        } else if let Some(header) = &header {
            match row::parse(text, header)? {
                Some(row) => {
                    found.add_row(row.result());
                    rows.push(row);
                }
                None if is_row_like(text, header.columns) => found.add_unread(line),
                None if !text.trim().is_empty() && !is_library_line(text) => found.unknown.add(line),
                None => {}
            }
        } else if !text.trim().is_empty() && !is_library_line(text) {
            found.unknown.add(line);
        }
    }
    row::check(&rows, ranks)?;
    if ranks > 0 {
        found.add_setting("ranks", &ranks.to_string(), true);
    }
    for row in &rows {
        for (name, value) in ["data type", "reduction", "root"].into_iter().zip(row.kind()) {
            found.add_setting(name, value, true);
        }
    }
    announced.check(&rows, found);
    // Rows that are missing or unread are the more specific cause of another average.
    if found.unread.is_none() && found.missing.is_none() {
        check_average(&rows, average, &announced, found)?;
    }
    Ok(())
}

fn parse_header(line: &str, words: &[&str]) -> Option<Header> {
    let all = |names: &[&str]| -> Vec<usize> {
        let columns = words.iter().enumerate();
        columns
            .filter(|(_, word)| names.contains(word))
            .map(|(at, _)| at)
            .collect()
    };
    let first = |names: &[&str]| all(names).first().copied();
    let known = [
        "size",
        "count",
        "type",
        "redop",
        "root",
        "time",
        "cputime",
        "algbw",
        "busbw",
        "#wrong",
        "error",
        "i_min",
        "i_max",
        "i_p99",
        "i_cv%",
        "timestamp",
    ];
    let is_known = words.iter().all(|word| known.contains(word));
    let has_timestamp = words.last() == Some(&"timestamp");
    let ends: Vec<usize> = crate::layout::word_positions(line)
        .into_iter()
        .map(|(_, end)| end)
        .collect();
    let skipped = ends.len().checked_sub(words.len())?;
    is_known
        .then_some(Header {
            columns: words.len() + usize::from(has_timestamp),
            ends: ends.get(skipped..)?.to_vec(),
            time: first(&["time"]),
            algbw: first(&["algbw"])?,
            busbw: first(&["busbw"])?,
            in_place_busbw: all(&["busbw"]).get(1).copied(),
            kind: ["type", "redop", "root"].map(|name| first(&[name])),
            wrong: all(&["#wrong", "error"]),
            has_timestamp,
        })
        .filter(|header| !header.wrong.is_empty() && (header.time.is_some() || first(&["cputime"]).is_some()))
}

fn has_units(words: &[&str]) -> bool {
    let units = ["(us)", "(GB/s)", "(GB/s)"];
    words.get(2..5) == Some(&units) || words.windows(3).any(|window| window == units)
}

/// Parses the average in `# Avg bus bandwidth    : 32.0833`.
fn parse_average(words: &[&str]) -> Option<Printed> {
    let colon = words.iter().position(|word| *word == ":")?;
    Printed::rounded(words.get(colon + 1)?)
}

/// Fails if the printed average is not the average of the printed bus bandwidths. If the announced sizes are not those of
/// the rows, the program did not print both, so the difference is only noted.
fn check_average(
    rows: &[Measurement],
    average: Option<Printed>,
    announced: &Announced,
    found: &mut ParsedOutput,
) -> Result<(), ParseError> {
    let Some(average) = average.filter(|_| !rows.is_empty()) else {
        return Ok(());
    };
    let values: Vec<Printed> = rows.iter().flat_map(Measurement::bus_bandwidths).collect();
    let mean = |of: fn(&Printed) -> f64| values.iter().map(of).sum::<f64>() / values.len() as f64;
    let expected = Printed {
        value: mean(|value| value.value),
        least: mean(|value| value.least),
        most: mean(|value| value.most),
    };
    if expected.agrees(average, SLACK) {
        return Ok(());
    }
    let message = format!(
        "the average bus bandwidth of the results is {:.4} GB/s, but the output contains {} GB/s",
        expected.value, average.value
    );
    match announced.is_contradicted() {
        true => {
            found.notes.push(message);
            Ok(())
        }
        false => Err(ParseError::Totals { message }),
    }
}
