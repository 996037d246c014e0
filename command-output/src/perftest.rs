//! Output of perftest programs, such as ib_write_bw and ib_write_lat: a table that follows a line with `#bytes`.
//!
//! In perftest, an MB is 2^20 bytes, which newer versions call MiB, and a Gb is 10^9 bits. The latency is the average,
//! which is half the round-trip time for ib_write_lat and ib_send_lat (perftest_parameters.h and perftest_resources.c).
//! `printf` rounds all values.

mod directions;
mod settings;

use directions::Directions;

use crate::layout::{Layout, Padded, SHIFTED, compare, padded_starts, word_positions};
use crate::lines::Line;
use crate::row::PrintedSize;
use crate::table::{Columns, decimals, is_library_line, is_row_like, number, whole_number};
use crate::{ParseError, ParsedOutput, Printed, Row};

const COLUMNS: [&str; 28] = [
    "#bytes",
    "#sl",
    "#iterations",
    "BW peak[MB/sec]",
    "BW average[MB/sec]",
    "BW peak[MiB/sec]",
    "BW average[MiB/sec]",
    "BW peak[Gb/sec]",
    "BW average[Gb/sec]",
    "MsgRate[Mpps]",
    "BW Port1[MB/sec]",
    "BW Port1[MiB/sec]",
    "BW Port1[Gb/sec]",
    "MsgRate Port1[Mpps]",
    "BW Port2[MB/sec]",
    "BW Port2[MiB/sec]",
    "BW Port2[Gb/sec]",
    "MsgRate Port2[Mpps]",
    "CPU_Util[%]",
    "t_min[usec]",
    "t_max[usec]",
    "t_typical[usec]",
    "t_avg[usec]",
    "t_stdev[usec]",
    "99% percentile[usec]",
    "99.9% percentile[usec]",
    "tps average",
    "BW Min[Gb/sec]",
];
/// Names of the column with the average bandwidth, and the number of bytes per second in its unit.
const BANDWIDTHS: [(&str, f64); 3] = [
    ("BW average[MB/sec]", 1_048_576.0),
    ("BW average[MiB/sec]", 1_048_576.0),
    ("BW average[Gb/sec]", 1e9 / 8.0),
];
const EXPECTED: &str = "BW average[MB/sec], BW average[MiB/sec], BW average[Gb/sec] or t_avg[usec]";
/// Relative difference by which the bandwidth may differ from the size times the message rate in addition to the
/// resolution.
const SLACK: f64 = 1e-3;
/// Columns of a latency test (`REPORT_FMT_LAT` in perftest_parameters.h). Older versions print the last two gaps
/// differently.
const LATENCY_FORMATS: [[Padded; 9]; 2] = [latency_format(" \t"), latency_format(" \t\t")];

const fn latency_format(last: &'static str) -> [Padded; 9] {
    [
        Padded {
            before: " ",
            width: 7,
        },
        Padded {
            before: " ",
            width: 0,
        },
        Padded {
            before: "          ",
            width: 7,
        },
        Padded {
            before: "        ",
            width: 7,
        },
        Padded {
            before: "      ",
            width: 7,
        },
        Padded {
            before: "  \t       ",
            width: 7,
        },
        Padded {
            before: "     \t",
            width: 7,
        },
        Padded {
            before: "\t\t",
            width: 7,
        },
        Padded {
            before: last,
            width: 7,
        },
    ]
}

/// Reads all rows. They are followed by a line of hyphens.
pub fn parse(lines: &[&Line<'_>], found: &mut ParsedOutput) -> Result<(), ParseError> {
    let mut columns: Option<Columns> = None;
    let mut directions = Directions::default();
    for line in lines {
        let text = line.text.trim();
        let is_border = text.len() >= 10 && text.chars().all(|character| character == '-');
        if text.starts_with("#bytes") {
            let header = header(text)?;
            if !directions.is_next() {
                found.add_header(text, header.len());
            }
            columns = Some(header);
        } else if settings::is_title(text) {
            found.tests.push(settings::title(text));
        } else if is_border {
            if columns.is_some() {
                found.add_end(true);
            }
        } else if text.is_empty() || (columns.is_some() && directions.begins(text)) {
        } else if let Some(columns) = &columns {
            found.add_end(false);
            match row(&line.text, columns)? {
                Some(row) => {
                    if let Some(row) = directions.add(row) {
                        found.add_row(row);
                    }
                }
                None if is_row_like(text, columns.len()) => found.add_unread(line),
                None if !is_library_line(text) => found.unknown.add(line),
                None => {}
            }
        } else if !settings::read(text, found) && !is_library_line(text) {
            found.unknown.add(line);
        }
    }
    directions.check(found)
}

fn header(line: &str) -> Result<Columns, ParseError> {
    let columns = Columns::find(line, &COLUMNS)?;
    let has_result = BANDWIDTHS
        .iter()
        .any(|(name, _)| columns.position(&[name]).is_some())
        || columns.position(&["t_avg[usec]"]).is_some();
    has_result
        .then_some(columns)
        .ok_or_else(|| ParseError::unit(EXPECTED, line))
}

/// Parses the row in `text`. Returns `None` if the text is not exactly one whole row.
fn row(text: &str, columns: &Columns) -> Result<Option<Row>, ParseError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_whole = words.len() == columns.len() && words[0].parse::<u64>().is_ok();
    if !is_whole
        || !columns
            .names()
            .zip(&words)
            .all(|(name, word)| has_form(name, word))
    {
        return Ok(None);
    }
    let word = |name: &str| columns.position(&[name]).and_then(|at| words.get(at));
    let value = |name: &str| word(name).map(|word| number(word, text)).transpose();
    let size = whole_number(words[0], text)?;
    let contradiction = |problem: &'static str| ParseError::contradiction(text, problem);
    let mut bandwidth = None;
    for (name, factor) in BANDWIDTHS {
        bandwidth = bandwidth.or(value(name)?.map(|value| value.scaled(factor)));
    }
    if let (Some(bandwidth), Some(rate)) = (bandwidth, value("MsgRate[Mpps]")?) {
        let expected = rate.scaled(1e6).times(Printed::exact(size as f64));
        if !expected.agrees(bandwidth, SLACK) {
            return Err(contradiction("the average bandwidth is not #bytes times MsgRate"));
        }
    }
    let latency = value("t_avg[usec]")?;
    if let (Some(average), Some(least), Some(most)) = (latency, value("t_min[usec]")?, value("t_max[usec]")?)
    {
        if average.most < least.least || average.least > most.most {
            return Err(contradiction("t_avg is not between t_min and t_max"));
        }
        if is_shifted(text, &words) {
            return Err(contradiction(SHIFTED));
        }
    }
    Ok(Some(Row {
        size: Some(PrintedSize::exact(size)),
        implied_size: None,
        latency: latency.map(|value| value.scaled(1e3)),
        bandwidth,
        operations: word("#iterations")
            .map(|word| whole_number(word, text))
            .transpose()?,
        payload_bytes: None,
    }))
}

/// Whether `word` has the form in which perftest prints the column `name`: most values have two decimals, and rates have
/// six (`REPORT_FMT` in perftest_parameters.h).
fn has_form(name: &str, word: &str) -> bool {
    match name {
        "#bytes" | "#sl" | "#iterations" => {
            word.bytes().all(|byte| byte.is_ascii_digit()) && (word == "0" || !word.starts_with('0'))
        }
        name if name.starts_with("MsgRate") => decimals(word) == 6,
        name if name.starts_with("BW") => matches!(decimals(word), 2 | 6),
        _ => decimals(word) == 2,
    }
}

/// Whether the row of a latency test has the layout that perftest prints, except that a character was lost or added.
fn is_shifted(text: &str, words: &[&str]) -> bool {
    let found: Vec<usize> = word_positions(text).into_iter().map(|(start, _)| start).collect();
    let layouts = LATENCY_FORMATS.map(|format| compare(&padded_starts(&format, words), &found));
    !layouts.contains(&Layout::Aligned) && layouts.contains(&Layout::Shifted)
}
