//! Rows of nccl-tests, and the relations between their columns.

use super::Header;
use crate::layout::{Layout, SHIFTED, compare, word_positions};
use crate::row::PrintedSize;
use crate::table::{number, whole_number};
use crate::{ParseError, Printed, Row};

/// Relative difference by which the algorithm bandwidth may differ from the size divided by the time in addition to one
/// unit of its last digit, because the program averages both over the ranks.
const SLACK: f64 = 0.01;

/// One row of the table.
pub(super) struct Measurement {
    line: String,
    /// Data type of the elements, reduction, and root, which together with the size identify a result. Empty if the program
    /// does not print them.
    kind: [String; 3],
    /// Size in bytes.
    pub(super) size: u64,
    /// Microseconds; `None` if the program prints the CPU time instead.
    time: Option<Printed>,
    /// GB/s.
    algbw: Printed,
    /// GB/s.
    busbw: Printed,
    /// Bus bandwidth of in-place operations, in GB/s; `None` if the program does not print it.
    in_place_busbw: Option<Printed>,
}

/// Parses the row in `line`. Returns `None` if the line is not exactly one whole row.
pub(super) fn parse(line: &str, header: &Header) -> Result<Option<Measurement>, ParseError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_whole = words.len() == header.columns
        && words[..2].iter().all(|word| is_whole_number(word))
        && words[2].starts_with(|first: char| first.is_ascii_alphabetic());
    // A program that does not check its data prints N/A. Older versions print the largest error instead of a count.
    let has_wrong = |at: &usize| words[*at] == "N/A" || words[*at].parse::<f64>().is_ok();
    let values = [header.algbw, header.busbw]
        .into_iter()
        .chain(header.time)
        .chain(header.in_place_busbw);
    let has_values = |at: usize| words.get(at).is_some_and(|word| *word == "N/A" || has_form(word));
    if !is_whole || !header.wrong.iter().all(has_wrong) || !values.clone().all(has_values) {
        return Ok(None);
    }
    let is_wrong = |at: &usize| words[*at].parse::<u64>().is_ok_and(|count| count > 0);
    if header.wrong.iter().any(is_wrong) {
        return Err(ParseError::wrong_data(line));
    }
    // The date and time of day at the end are two words below one column.
    let positions = word_positions(line);
    let found: Vec<usize> = positions
        .iter()
        .take(header.ends.len())
        .map(|(_, end)| *end)
        .collect();
    let count = header.ends.len() - usize::from(header.has_timestamp);
    let (expected, found) = (&header.ends[..count], &found[..count]);
    // Some collectors remove the white space before a row.
    let first = expected
        .first()
        .zip(found.first())
        .filter(|_| line.starts_with(|first: char| !first.is_whitespace()));
    let moved = first.map_or(0, |(expected, found)| expected.saturating_sub(*found));
    let found: Vec<usize> = found.iter().map(|end| end + moved).collect();
    if compare(expected, &found) == Layout::Shifted {
        return Err(ParseError::contradiction(line, SHIFTED));
    }
    let value = |at: usize| number(words[at], line);
    Ok(Some(Measurement {
        line: line.trim().to_owned(),
        kind: header.kind.map(|at| {
            at.and_then(|at| words.get(at))
                .map_or_else(String::new, |word| (*word).to_owned())
        }),
        size: whole_number(words[0], line)?,
        time: header.time.map(value).transpose()?,
        algbw: value(header.algbw)?,
        busbw: value(header.busbw)?,
        in_place_busbw: header
            .in_place_busbw
            .filter(|at| words[*at] != "N/A")
            .map(value)
            .transpose()?,
    }))
}

fn is_whole_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit()) && (word == "0" || !word.starts_with('0'))
}

/// Whether `word` has one of the forms of `getFloatStr` in src/util.cu: at most two decimals, or an exponent.
fn has_form(word: &str) -> bool {
    let decimals = crate::table::decimals(word);
    Printed::rounded(word).is_some() && (decimals <= 2 || word.contains('e'))
}

impl Measurement {
    /// The result of the row.
    pub(super) fn result(&self) -> Row {
        Row {
            size: Some(PrintedSize::exact(self.size)),
            implied_size: None,
            latency: self.time.map(|time| time.scaled(1e3)),
            bandwidth: Some(self.busbw.scaled(1e9)),
            operations: None,
            payload_bytes: None,
        }
    }

    /// Bus bandwidths of which the program prints the average.
    pub(super) fn bus_bandwidths(&self) -> impl Iterator<Item = Printed> {
        [Some(self.busbw), self.in_place_busbw].into_iter().flatten()
    }

    /// Data type of the elements, reduction and root.
    pub(super) fn kind(&self) -> &[String; 3] {
        &self.kind
    }

    fn contradiction(&self, problem: &'static str) -> ParseError {
        ParseError::contradiction(&self.line, problem)
    }
}

/// Fails if the columns of a row contradict each other: the algorithm bandwidth is the size divided by the time, and the
/// bus bandwidth is the algorithm bandwidth times a factor that depends only on the operation and the number of ranks.
pub(super) fn check(rows: &[Measurement], ranks: usize) -> Result<(), ParseError> {
    let widened = |printed: Printed| Printed {
        least: (printed.value - 2.0 * (printed.most - printed.value)).max(0.0),
        most: printed.value + 2.0 * (printed.most - printed.value),
        ..printed
    };
    // hypercube_perf counts only the bytes that are sent to other ranks (src/hypercube.cu).
    let others = (ranks >= 2).then(|| (ranks - 1) as f64 / ranks as f64);
    for row in rows {
        let Some(time) = row.time else {
            continue;
        };
        let bytes = widened(row.algbw).times(time).scaled(1e3);
        let size = Printed::exact(row.size as f64);
        let mut factors = std::iter::once(1.0).chain(others);
        if !factors.any(|factor| bytes.agrees(size.scaled(factor), SLACK)) {
            return Err(row.contradiction("algbw is not the size divided by the time"));
        }
    }
    let largest = rows
        .iter()
        .max_by(|first, second| first.algbw.value.total_cmp(&second.algbw.value));
    for row in rows {
        let Some(largest) = largest.filter(|largest| largest.algbw.value > 0.0) else {
            break;
        };
        // Both sides are busbw times algbw, once of this row and once of the other.
        let (own, other) = (row.busbw.times(largest.algbw), largest.busbw.times(row.algbw));
        if !own.agrees(other, SLACK) {
            return Err(row.contradiction("busbw is not algbw times the factor of the other rows"));
        }
    }
    Ok(())
}
