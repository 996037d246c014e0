//! Results that fabtests programs print with `-m`, such as `- { xfer_size: 64, iterations: 10, ... }`.

use super::Transfers;
use crate::row::PrintedSize;
use crate::table::{number, whole_number};
use crate::{ParseError, Printed, Row};

/// Names of the values, in their order (`show_perf_mr` in fabtests/common/shared.c).
const FIELDS: [&str; 7] = [
    "xfer_size",
    "iterations",
    "total",
    "time",
    "MB/sec",
    "usec/xfer",
    "Mxfers/sec",
];

/// Parses the result in `text`. Returns `None` if the text is not exactly one whole result.
pub(super) fn parse(text: &str) -> Result<Option<Row>, ParseError> {
    let inner = text.strip_prefix("- {").and_then(|text| text.strip_suffix('}'));
    let Some(inner) = inner.filter(|inner| !inner.contains(['{', '}'])) else {
        return Ok(None);
    };
    let fields: Option<Vec<(&str, &str)>> = inner
        .split(',')
        .map(|field| field.trim().split_once(": "))
        .collect();
    let fields = fields.unwrap_or_default();
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    if names != FIELDS {
        return Ok(None);
    }
    let words: Vec<&str> = fields.iter().map(|(_, value)| *value).collect();
    let [size, iterations, total, time, rate, latency, _] = words.as_slice() else {
        return Ok(None);
    };
    let value = |word: &str| match word {
        "inf" => Ok(Printed::UNRESOLVED),
        word => number(word, text),
    };
    let iterations = whole_number(iterations, text)?;
    let found = Transfers {
        size: PrintedSize::exact(whole_number(size, text)?),
        count: Some((iterations, iterations)),
        total: Some(PrintedSize::exact(whole_number(total, text)?)),
        seconds: number(time, text)?,
        megabytes_per_second: value(rate)?,
        microseconds: value(latency)?,
    };
    found.into_row(text).map(Some)
}
