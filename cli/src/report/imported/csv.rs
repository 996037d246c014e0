//! CSV report of an imported run. Columns with the same meaning have the same names as in the CSV report of a measured
//! run.

use crds::printable::printable;

use crate::imported::{Difference, ImportedRun, NOT_CONTROLLED_SHORT};
use crate::report::csv::{format_significant, unit};

const COLUMNS: [&str; 15] = [
    "run",
    "tool",
    "size_bytes",
    "arm",
    "metric",
    "unit",
    "logs",
    "median",
    "min",
    "max",
    "uncontrolled_difference_percent",
    "uncontrolled_difference_least_percent",
    "uncontrolled_difference_most_percent",
    "verdict",
    "reason",
];

/// Renders the report as CSV with a header row.
///
/// # Errors
/// Returns an error if the CSV writer fails, which does not happen when writing to memory.
pub(super) fn render(run: &ImportedRun) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    let names = run.manifest.variants();
    for value in &run.values {
        let observed = &value.observed;
        let baseline = run
            .value_summary(0, value.size, value.metric)
            .filter(|_| value.variant > 0);
        let difference = baseline.and_then(|baseline| observed.difference(baseline));
        let column = |select: fn(Difference) -> f64| {
            difference.map_or_else(String::new, |difference| format_significant(select(difference)))
        };
        writer.write_record([
            run.manifest.name.clone(),
            format!("{:?}", run.manifest.tool),
            value.size.map(|bytes| bytes.to_string()).unwrap_or_default(),
            names.get(value.variant).copied().unwrap_or_default().to_owned(),
            value.metric.to_string(),
            unit(value.metric).to_owned(),
            observed.logs.to_string(),
            format_significant(observed.median),
            format_significant(observed.min),
            format_significant(observed.max),
            column(|difference| difference.percent),
            column(|difference| difference.range_percent.0),
            column(|difference| difference.range_percent.1),
            String::new(),
            NOT_CONTROLLED_SHORT.to_owned(),
        ])?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(printable(&String::from_utf8_lossy(&bytes)).into_owned())
}
