//! Reports of imported runs and of comparisons with them. Every format says that the values are not controlled, and
//! none contains a verdict. Performs no I/O.

mod comparison;
mod csv;
mod html;
mod json;
mod junit;
mod markdown;
mod text;

use campaign::compare::metric_name;
use campaign::format;
use crds::v1alpha1::Metric;

use super::labels;
use crate::imported::{Difference, ImportedRun, NOT_CONTROLLED_SHORT, ValueSummary};

pub use comparison::{json as comparison_json, text as comparison_text};
pub use csv::render as csv;
pub use html::render as html;
pub use json::render as json;
pub use junit::render as junit;
pub use markdown::render as markdown;
pub use text::render as text;

/// Explanation of why imported runs have no OpenMetrics report.
pub const NO_OPENMETRICS: &str = "an imported run has no metrics: dashboards and alerts would treat its values as \
                                  measured. Use another --format";

/// Values of one metric: a row for each size and a column for each variant.
struct Table {
    /// Name of the metric.
    metric: Metric,
    /// Table description.
    title: String,
    /// Column titles.
    columns: Vec<String>,
    /// Size and values.
    rows: Vec<Vec<String>>,
}

/// Values of `run`, one table for each metric that a log contains.
fn tables(run: &ImportedRun) -> Vec<Table> {
    let names = run.manifest.variants();
    let first = names.first().copied().unwrap_or_default();
    let mut tables: Vec<Table> = Vec::new();
    let mut sizes: Vec<(Metric, Option<u64>)> = Vec::new();
    for value in &run.values {
        let key = (value.metric, value.size);
        if sizes.last() == Some(&key) {
            continue;
        }
        sizes.push(key);
        if tables.last().is_none_or(|table| table.metric != value.metric) {
            let difference = match names.len() {
                1 => String::new(),
                _ => format!(", difference from {first} [to within the last printed digit]"),
            };
            tables.push(Table {
                metric: value.metric,
                title: format!(
                    "{} of {:?}, median of the logs (smallest to largest){difference}: {NOT_CONTROLLED_SHORT}",
                    metric_name(value.metric),
                    run.manifest.tool
                ),
                columns: ["size".to_owned()]
                    .into_iter()
                    .chain(names.iter().map(|name| (*name).to_owned()))
                    .collect(),
                rows: Vec::new(),
            });
        }
        let baseline = run.value_summary(0, value.size, value.metric);
        let cells = (0..names.len()).map(|variant| {
            let observed = run.value_summary(variant, value.size, value.metric);
            cell(value.metric, observed, baseline.filter(|_| variant > 0))
        });
        let row = [value.size_text()].into_iter().chain(cells).collect();
        if let Some(table) = tables.last_mut() {
            table.rows.push(row);
        }
    }
    tables
}

/// Formats a variant's values, with their difference from `baseline`.
fn cell(metric: Metric, observed: Option<&ValueSummary>, baseline: Option<&ValueSummary>) -> String {
    let Some(observed) = observed else {
        return "no log".to_owned();
    };
    let difference = baseline.map(|baseline| {
        let difference = difference_text(observed, baseline);
        format!(", {difference} {NOT_CONTROLLED_SHORT}")
    });
    format!(
        "{}{}",
        format_values(metric, observed, "log"),
        difference.unwrap_or_default()
    )
}

/// Formats the change from `baseline` to `observed`, with the bounds that follow from the last printed digit if they differ
/// from the change as it is formatted.
fn difference_text(observed: &ValueSummary, baseline: &ValueSummary) -> String {
    match observed.difference(baseline) {
        None => "difference unknown (below the resolution),".to_owned(),
        Some(Difference {
            percent,
            range_percent,
        }) => {
            let text = |percent: f64| format::change(percent, None);
            let (least, most) = range_percent;
            let is_narrow = text(least) == text(percent) && text(most) == text(percent);
            format::change(percent, (!is_narrow).then_some(range_percent))
        }
    }
}

/// Formats the median, range and number of log or round values.
fn format_values(metric: Metric, observed: &ValueSummary, noun: &str) -> String {
    let resolution = observed.range.1 - observed.range.0;
    let text = |value: f64| match value > 0.0 {
        true => labels::printed_value(metric, value, resolution),
        false => "below the resolution".to_owned(),
    };
    let count = format::pluralized(observed.logs as u64, noun);
    match observed.logs {
        1 => format!("{} ({count})", text(observed.median)),
        _ => format!(
            "{} ({} to {}, {count})",
            text(observed.median),
            text(observed.min),
            text(observed.max)
        ),
    }
}

/// Returns the title of a report.
fn title(run: &ImportedRun) -> String {
    let logs = format::pluralized(run.manifest.logs.len() as u64, "log");
    format!(
        "imported from {logs} of {:?} at {} · {NOT_CONTROLLED_SHORT}",
        run.manifest.tool, run.manifest.imported_at
    )
}

/// Returns one line for each log.
fn log_lines(run: &ImportedRun) -> Vec<String> {
    let logs = run.manifest.logs.iter();
    let line = logs.map(|log| {
        let hash: String = log.sha256.chars().take(12).collect();
        format!("{}: {} (SHA-256 {hash}…)", log.variant, log.source)
    });
    line.collect()
}
