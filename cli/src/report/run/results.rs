//! Table of the values of each arm in one scenario.

use campaign::compare::metric_name;
use campaign::format;
use campaign::plan::{Arm, PlannedScenario};
use campaign::summarize::{CellSummary, CellView};
use campaign::workload::rules;
use crds::v1alpha1::Metric;

use super::isolated;
use crate::report::document::{Column, Detail, Note, ResultText, Row, Table};
use crate::report::{Report, labels};

/// Text of a quantile that would be the largest sample.
const TOO_FEW: &str = "too few samples";
/// Title of the column with the change of the primary metric.
const CHANGE: &str = "change";

/// Results of an arm at a size.
#[derive(Clone, Copy)]
struct Results<'a> {
    report: &'a Report<'a>,
    scenario: &'a PlannedScenario,
    arm: &'a Arm,
    cell: &'a CellSummary,
}

impl Results<'_> {
    /// Quantile of the pooled samples. A quantile other than the median is withheld if it would be the largest sample.
    fn quantile(self, quantile: f64) -> Option<String> {
        let latency = &self.cell.latency;
        let nanos = match (quantile - 0.5).abs() < f64::EPSILON {
            true => latency.quantile(quantile),
            false => latency.tail_quantile(quantile),
        };
        match nanos {
            Some(nanos) => self.time(Some(nanos as f64)),
            None => (latency.count() > 0).then(|| TOO_FEW.to_owned()),
        }
    }

    fn time(self, nanos: Option<f64>) -> Option<String> {
        nanos.map(|nanos| isolated::time(self.cell, nanos))
    }

    /// Median of `metric` over the rounds.
    fn metric(self, metric: Metric) -> Option<String> {
        labels::median(self.scenario, self.cell, metric).or_else(|| {
            let below = self.cell.below_resolution.contains(&metric);
            below.then(|| labels::BELOW_RESOLUTION.to_owned())
        })
    }

    fn operations(self) -> Option<String> {
        match self.cell.iterations {
            Some(count) => Some(count.to_string()),
            None if self.scenario.assignment.workload.tool().is_some() => None,
            None => (!self.cell.valid_rounds.is_empty()).then(|| "varies".to_owned()),
        }
    }

    /// Change of the primary metric.
    fn change(self) -> Option<String> {
        let comparisons = &self.report.evaluation.comparisons;
        let (cell, primary) = (self.cell, self.scenario.primary);
        let comparison = comparisons.find(cell.scenario, cell.size_bytes, cell.arm, primary)?;
        Some(match (comparison.verdict, comparison.effect) {
            (Some(_), Some(effect)) => format::percent(effect.percent),
            // A change without a verdict would look like a result.
            _ => ResultText::from(comparison).label.to_owned(),
        })
    }
}

/// A column: its title, the formats that show it, its value, and its explanation, which may be empty.
type ValueColumn = (
    &'static str,
    Detail,
    fn(Results<'_>) -> Option<String>,
    &'static str,
);

const POOLED: &str = "p50, p95 and p99 pool the samples of all valid rounds; the baseline of the verdicts is the median over \
                      the rounds, so the two may differ";
const RAW: &str = "a raw quantile is the median, over the rounds, of the quantile computed from the raw samples (exclusive \
                   method, as in Python's statistics.quantiles)";

/// Columns after the size and the arm. Only those for which the scenario has values are shown.
const VALUES: [ValueColumn; 22] = {
    use Detail::{Brief, Full};
    [
        (
            "rounds",
            Full,
            |row| Some(row.cell.valid_rounds.len().to_string()),
            "",
        ),
        (
            "operations",
            Full,
            |row| row.operations(),
            "operations are counted per thread and case",
        ),
        (
            "min",
            Full,
            |row| row.time(row.cell.min_nanos.map(|nanos| nanos as f64)),
            "",
        ),
        ("p50", Brief, |row| row.quantile(0.5), ""),
        (
            "raw p50",
            Full,
            |row| row.time(row.cell.exclusive_quantiles.map(|raw| raw.p50_nanos)),
            RAW,
        ),
        ("p95", Brief, |row| row.quantile(0.95), ""),
        (
            "raw p95",
            Full,
            |row| row.time(row.cell.exclusive_quantiles.map(|raw| raw.p95_nanos)),
            "",
        ),
        ("p99", Brief, |row| row.quantile(0.99), ""),
        (
            "raw p99",
            Full,
            |row| row.time(row.cell.exclusive_quantiles.map(|raw| raw.p99_nanos)),
            "",
        ),
        ("p99.9", Full, |row| row.quantile(0.999), ""),
        (
            "max",
            Full,
            |row| row.time(row.cell.max_nanos.map(|nanos| nanos as f64)),
            "",
        ),
        (
            "throughput",
            Brief,
            |row| row.metric(Metric::Throughput),
            "throughput is the median over the rounds",
        ),
        (
            "reported latency",
            Brief,
            |row| row.metric(Metric::ReportedLatency),
            "reported values are medians over the rounds of the values that the command's tool printed",
        ),
        (
            "reported bandwidth",
            Brief,
            |row| row.metric(Metric::ReportedBandwidth),
            "",
        ),
        (
            "completions",
            Brief,
            |row| row.metric(Metric::CompletionRate),
            "completions are the median over the rounds",
        ),
        (
            "CPU (both sides)",
            Full,
            |row| row.metric(Metric::CpuSecondsPerGib),
            "CPU (both sides) is the median of the CPU time over the rounds",
        ),
        (
            "CPU",
            Brief,
            |row| row.cell.cpu_percent.map(|percent| format!("{percent:.0} %")),
            "CPU is the CPU time of both sides divided by the window: 100 % is one CPU",
        ),
        (
            "waiting for a CPU",
            Full,
            |row| share(row.cell.disturbance?.run_queue_share),
            "waiting for a CPU is the time in a run queue of the thread that waited longest, as a share of the measured \
             time",
        ),
        (
            "other processes",
            Full,
            |row| share(row.cell.disturbance?.foreign_cpu_share),
            "other processes are their share of the time of the worker's CPUs",
        ),
        (
            "other traffic",
            Full,
            |row| row.cell.disturbance?.foreign_bytes.map(format::bytes),
            "other traffic is the number of bytes on the interfaces that neither the payload nor its headers explain",
        ),
        (
            "fabric",
            Full,
            |row| Some(labels::fabric_proof(row.cell.fabric.as_ref()?.proof).to_owned()),
            "",
        ),
        (CHANGE, Brief, |row| row.change(), ""),
    ]
};

/// Formats a share of the measured time.
fn share(share: Option<f64>) -> Option<String> {
    share.map(|share| format!("{:.1} %", share * 100.0))
}

/// Table of the values of each arm at each size. Short formats omit control arms and arms without a valid round, and the
/// whole table if the values have tables of their own: calls, footprints and parameter serving.
pub(super) fn table(report: &Report<'_>, index: usize, scenario: &PlannedScenario) -> Table {
    let workload = &scenario.assignment.workload;
    let results: Vec<Results<'_>> = report
        .cells_of(index)
        .map(|CellView { scenario, arm, cell }| Results {
            report,
            scenario,
            arm,
            cell,
        })
        .collect();
    // A column that says only that there are too few samples has no value.
    let has_values = |(_, _, value, _): &ValueColumn| {
        let mut values = results.iter().filter_map(|row| value(*row));
        values.any(|value| value != TOO_FEW)
    };
    let columns: Vec<ValueColumn> = VALUES.into_iter().filter(has_values).collect();
    let rows = results.iter().map(|row| {
        let is_variant = row.arm.control.is_none();
        let is_valid = !row.cell.valid_rounds.is_empty();
        let absent = if is_valid { "-" } else { "no valid case" };
        let values = columns
            .iter()
            .map(|(_, _, value, _)| value(*row).unwrap_or_else(|| absent.to_owned()));
        let name = &row.arm.name;
        let invalid = row.cell.invalid_reason().unwrap_or_else(|| "none".to_owned());
        let start = [format::size(row.cell.size_bytes), name.clone()].into_iter();
        let detail = match is_variant && is_valid {
            true => Detail::Brief,
            false => Detail::Full,
        };
        Row::new(start.chain(values).chain([invalid])).detail(detail)
    });
    let shown = columns
        .iter()
        .map(|(title, detail, ..)| Column::new(*title).detail(*detail));
    let invalid = Column::sentences("invalid cases").detail(Detail::Full);
    let titles = ["size", "arm"].map(Column::new).into_iter();
    let table = Table::new(
        format!(
            "values of each arm (latency is {})",
            rules(workload).latency_definition()
        ),
        titles.chain(shown).chain([invalid]).collect(),
        rows,
    );
    let detail = match rules(workload).has_own_tables() {
        true => Detail::Full,
        false => Detail::Brief,
    };
    table.detail(detail).notes(notes(scenario, &columns))
}

/// Explains the change, which is not the ratio of two values in the table, and the other columns.
fn notes(scenario: &PlannedScenario, columns: &[ValueColumn]) -> Vec<Note> {
    let has = |title: &str| columns.iter().any(|(shown, ..)| *shown == title);
    let change = format!(
        "{}, estimated from the ratios within the rounds, as in the verdict; it is not the ratio of two values above",
        metric_name(scenario.primary)
    );
    let below = "calls that take less than twice the time of one reading of the clock, which is in brackets, are below the \
                 clock; the tails begin above it";
    let below = rules(&scenario.assignment.workload)
        .can_be_below_clock()
        .then_some(below);
    let absent = "a dash stands for a value that was not measured, or that the tool did not report";
    let explained = columns.iter().map(|(_, _, _, explanation)| *explanation);
    let explained = explained.filter(|explanation| !explanation.is_empty());
    let explained: Vec<&str> = explained.chain(below).chain([absent]).collect();
    // Only a baseline with a latency is confused with a quantile.
    let pooled = if scenario.primary.is_latency() {
        Detail::Brief
    } else {
        Detail::Full
    };
    let notes = [
        has(CHANGE).then(|| Note::new(CHANGE, change, Detail::Brief)),
        has("p50").then(|| Note::new("", POOLED, pooled)),
        Some(Note::new("", format!("{}.", explained.join(". ")), Detail::Full)),
    ];
    notes.into_iter().flatten().collect()
}
