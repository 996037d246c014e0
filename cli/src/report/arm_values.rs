//! Absolute values of each arm at each size: quantiles of the latency, rates and CPU time, with the change of the primary
//! metric. Every report format for human readers shows them.

use campaign::compare::metric_name;
use campaign::format;
use campaign::plan::PlannedScenario;
use campaign::summarize::CellSummary;
use campaign::workload::rules;
use crds::v1alpha1::Metric;

use super::Report;
use super::comparison::ComparisonText;
use super::isolated;
use super::labels;
use super::result_table::ResultTable;

/// Text of a quantile that would be the largest sample.
const TOO_FEW: &str = "too few samples";

/// Title of the column with the change of the primary metric.
const CHANGE: &str = "change";

/// Value of one column in one row; `None` if the arm has none.
type Value = Option<String>;

/// Formats the value of a column for an arm at a size.
type Format = fn(&Report<'_>, &PlannedScenario, &CellSummary) -> Value;

/// Table of the values of each arm, except control arms, with the columns for which the scenario has values. `None` if
/// there are none, or if the scenario's values have tables of their own: calls, footprints and parameter serving.
pub fn table(report: &Report<'_>, index: usize) -> Option<ResultTable> {
    let scenario = report.plan.scenarios.get(index)?;
    if rules(&scenario.assignment.workload).has_own_tables() {
        return None;
    }
    let cells = report.evaluation.summary.cells.iter();
    let cells: Vec<&CellSummary> = cells
        .filter(|cell| cell.scenario == index && !cell.valid_rounds.is_empty())
        .filter(|cell| is_shown(report, cell.arm))
        .collect();
    let columns: Vec<(&'static str, Vec<Value>)> = COLUMNS
        .iter()
        .map(|(title, value)| {
            let values = cells.iter().map(|cell| value(report, scenario, cell));
            (*title, values.collect())
        })
        // A column that says only that there are too few samples has no value.
        .filter(|(_, values): &(_, Vec<Value>)| values.iter().flatten().any(|value| value != TOO_FEW))
        .collect();
    if columns.is_empty() {
        return None;
    }
    let rows = cells.iter().enumerate().map(|(row, cell)| {
        let arm = report.plan.arms.get(cell.arm).map(|arm| arm.name.clone());
        let start = [format::size(cell.size_bytes), arm.unwrap_or_default()];
        let values = columns.iter().map(|(_, values)| {
            values
                .get(row)
                .cloned()
                .flatten()
                .unwrap_or_else(|| "-".to_owned())
        });
        start.into_iter().chain(values).collect()
    });
    Some(ResultTable {
        title: format!(
            "values of each arm (latency is {})",
            rules(&scenario.assignment.workload).latency_definition()
        ),
        rows: rows.collect(),
        columns: ["size", "arm"]
            .into_iter()
            .chain(columns.iter().map(|(title, _)| *title))
            .collect(),
        ends_with_sentences: false,
        notes: notes(
            scenario,
            &columns.iter().map(|(title, _)| *title).collect::<Vec<_>>(),
        ),
    })
}

/// Columns, with the functions that format their values.
const COLUMNS: [(&str, Format); 9] = [
    ("p50", |_, _, cell| quantile(cell, 0.5)),
    ("p95", |_, _, cell| quantile(cell, 0.95)),
    ("p99", |_, _, cell| quantile(cell, 0.99)),
    ("throughput", |_, scenario, cell| {
        metric(scenario, cell, Metric::Throughput)
    }),
    ("reported latency", |_, scenario, cell| {
        metric(scenario, cell, Metric::ReportedLatency)
    }),
    ("reported bandwidth", |_, scenario, cell| {
        metric(scenario, cell, Metric::ReportedBandwidth)
    }),
    ("completions", |_, scenario, cell| {
        metric(scenario, cell, Metric::CompletionRate)
    }),
    ("CPU", |_, _, cell| {
        cell.cpu_percent.map(|percent| format!("{percent:.0} %"))
    }),
    (CHANGE, |report, scenario, cell| {
        let comparisons = &report.evaluation.comparisons;
        let comparison = comparisons.find(cell.scenario, cell.size_bytes, cell.arm, scenario.primary)?;
        Some(match (comparison.verdict, comparison.effect) {
            (Some(_), Some(effect)) => format::percent(effect.percent),
            // A change without a verdict would look like a result.
            _ => ComparisonText::from(comparison).label.to_owned(),
        })
    }),
];

/// Explains the change, which is not the ratio of two values in the table, and the quantiles, which differ from the
/// values of the baseline in the table of verdicts.
fn notes(scenario: &PlannedScenario, columns: &[&str]) -> Vec<String> {
    let change = format!(
        "change: {}, estimated from the ratios within the rounds, as in the verdict; it is not the ratio of two values above",
        metric_name(scenario.primary)
    );
    let is_latency = matches!(
        scenario.primary,
        Metric::LatencyP50 | Metric::LatencyP95 | Metric::LatencyP99 | Metric::LatencyP999
    );
    let quantiles = "p50, p95 and p99 pool the samples of all valid rounds; the baseline of the verdicts is the median over \
                     the rounds, so the two may differ";
    let notes = [(CHANGE, change), ("p50", quantiles.to_owned())];
    let shown = notes
        .into_iter()
        .filter(|(column, _)| columns.contains(column) && (*column == CHANGE || is_latency));
    shown.map(|(_, note)| note).collect()
}

/// Formats a quantile of the pooled samples. A quantile other than the median is withheld if it would be the largest
/// sample.
pub fn quantile(cell: &CellSummary, quantile: f64) -> Value {
    let is_median = (quantile - 0.5).abs() < f64::EPSILON;
    let nanos = match is_median {
        true => cell.latency.quantile(quantile),
        false => cell.latency.tail_quantile(quantile),
    };
    match nanos {
        Some(nanos) => Some(isolated::time(cell, nanos as f64)),
        None => (cell.latency.count() > 0).then(|| TOO_FEW.to_owned()),
    }
}

/// Formats the median of `metric` over the rounds.
pub fn metric(scenario: &PlannedScenario, cell: &CellSummary, metric: Metric) -> Value {
    labels::median(scenario, cell, metric).or_else(|| {
        cell.below_resolution
            .contains(&metric)
            .then(|| labels::BELOW_RESOLUTION.to_owned())
    })
}

/// Whether the table shows the arm: the baseline and the variants, but not control arms.
fn is_shown(report: &Report<'_>, arm: usize) -> bool {
    report.plan.arms.get(arm).is_some_and(|arm| arm.control.is_none())
}
