//! Tables of one scenario: values of each arm, rates of flows, bytes on each rail, and changes in every metric.

use campaign::compare::metric_name;
use campaign::format;
use campaign::plan::PlannedScenario;
use campaign::summarize::{CellSummary, METRICS};
use campaign::workload::rules;
use crds::assignment::Workload;
use crds::v1alpha1::Metric;

use super::comparison::change;
use super::isolated;
use crate::report::document::{Cell, Column, Detail, Note, ResultText, Row, Table};
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
            None if self.scenario.assignment.workload.command().is_some() => None,
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
    let plan = report.plan;
    let workload = &scenario.assignment.workload;
    let cells = report.evaluation.summary.cells.iter();
    let results: Vec<Results<'_>> = cells
        .filter(|cell| cell.scenario == index)
        .map(|cell| Results {
            report,
            scenario,
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
        let arm = plan.arms.get(row.cell.arm);
        let is_variant = arm.is_some_and(|arm| arm.control.is_none());
        let is_valid = !row.cell.valid_rounds.is_empty();
        let absent = if is_valid { "-" } else { "no valid case" };
        let values = columns
            .iter()
            .map(|(_, _, value, _)| value(*row).unwrap_or_else(|| absent.to_owned()));
        let name = plan.arm_name(row.cell.arm);
        let invalid = row.cell.invalid_reason().unwrap_or_else(|| "none".to_owned());
        let start = [format::size(row.cell.size_bytes), name.to_owned()].into_iter();
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
    let below = matches!(scenario.assignment.workload, Workload::Rpc(_)).then_some(below);
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

/// Table of the rates of each flow and each receiver in the many-to-many pattern; without rows for other patterns.
pub(super) fn flows(report: &Report<'_>, index: usize) -> Table {
    let cells = report.evaluation.summary.cells.iter();
    let cells = cells.filter(|cell| cell.scenario == index);
    let rows = cells.flat_map(|cell| {
        let found = cell.flows.iter();
        found.flat_map(move |found| {
            let row = |from: String, to: u32, rate: f64| {
                Row::new([
                    format::size(cell.size_bytes),
                    report.arm_name(cell.arm).to_owned(),
                    from,
                    format!("rank {to}"),
                    format::bytes_per_second(rate),
                ])
            };
            let flows = found.flows.iter().map(move |flow| {
                row(
                    format!("rank {}", flow.sender),
                    flow.receiver,
                    flow.bytes_per_second,
                )
            });
            let receivers = found.receivers.iter().map(move |receiver| {
                row(
                    "all senders".to_owned(),
                    receiver.receiver,
                    receiver.bytes_per_second,
                )
            });
            flows.chain(receivers)
        })
    });
    let note = "Median payload rate over the rounds while all flows are active. The rate of a receiver is the sum over its \
                flows.";
    let columns = Column::all(["size", "arm", "from", "to", "rate"]);
    Table::new("rate of each flow", columns, rows)
        .detail(Detail::Full)
        .notes([Note::new("", note, Detail::Full)])
}

/// Table of the bytes that the initiators posted on each rail; without rows if there is a single rail.
pub(super) fn rails(report: &Report<'_>, index: usize) -> Table {
    let cells = report.evaluation.summary.cells.iter();
    let has_several_rails =
        |cell: &&CellSummary| cell.scenario == index && cell.counters.bytes_per_rail.len() > 1;
    let cells: Vec<&CellSummary> = cells.filter(has_several_rails).collect();
    let counted = cells.iter().map(|cell| cell.counters.bytes_per_rail.len());
    let rails = counted.max().unwrap_or_default();
    let rows = cells.iter().map(|cell| {
        let bytes = (0..rails).map(|rail| {
            let bytes = cell.counters.bytes_per_rail.get(rail);
            bytes.map_or_else(|| "not used".to_owned(), |bytes| format::bytes(*bytes))
        });
        let start = [
            format::size(cell.size_bytes),
            report.arm_name(cell.arm).to_owned(),
        ];
        Row::new(start.into_iter().chain(bytes))
    });
    let columns = ["size", "arm"].map(str::to_owned).into_iter();
    let columns = Column::all(columns.chain((0..rails).map(|rail| format!("rail {rail}"))));
    let note = "Total bytes that the initiators posted in all valid cases.";
    Table::new("bytes per rail", columns, rows)
        .detail(Detail::Full)
        .notes([Note::new("", note, Detail::Full)])
}

/// Whether any arm has a value of `metric` at any size of the scenario with index `index`.
pub(super) fn has_values(report: &Report<'_>, index: usize, metric: Metric) -> bool {
    let mut cells = report.evaluation.summary.cells.iter();
    cells.any(|cell| cell.scenario == index && cell.metric(metric).is_some())
}

/// Tables of the changes in every metric that has values, or that the tool printed as 0, apart from the primary metric.
pub(super) fn other_metrics(
    report: &Report<'_>,
    index: usize,
    scenario: &PlannedScenario,
) -> impl Iterator<Item = Table> {
    let is_shown = move |metric: &Metric| {
        let mut cells = report.evaluation.summary.cells.iter();
        *metric != scenario.primary
            && (has_values(report, index, *metric)
                || cells.any(|cell| cell.scenario == index && cell.below_resolution.contains(metric)))
    };
    let metrics = METRICS.into_iter().filter(is_shown);
    metrics.map(move |metric| changes(report, index, scenario, metric))
}

/// Table of the changes in `metric`, which is not the primary metric.
fn changes(report: &Report<'_>, index: usize, scenario: &PlannedScenario, metric: Metric) -> Table {
    let plan = report.plan;
    let arms: Vec<usize> = (0..plan.arms.len()).filter(|arm| *arm != plan.baseline).collect();
    let rows = scenario.sizes.iter().map(|size| {
        let cells = arms.iter().map(|arm| {
            let comparison = report.evaluation.comparisons.find(index, *size, *arm, metric);
            let change = comparison.and_then(change);
            change.unwrap_or_else(|| absence(report, (index, *size, *arm), metric).to_owned())
        });
        Row::new([format::size(*size)].into_iter().chain(cells).map(Cell::from))
    });
    let names = arms.iter().map(|arm| report.arm_name(*arm));
    let note = format!(
        "Only the primary metric, {}, gets verdicts. The other metrics are descriptive.",
        metric_name(scenario.primary)
    );
    let columns = Column::all(["size"].into_iter().chain(names));
    Table::new(format!("changes in {}", metric_name(metric)), columns, rows)
        .detail(Detail::Full)
        .notes([Note::new("", note, Detail::Full)])
}

/// Why there is no change in `metric`, which is not the primary metric, of an arm at a size.
fn absence(report: &Report<'_>, cell: (usize, u64, usize), metric: Metric) -> &'static str {
    let (scenario, size_bytes, arm) = cell;
    let summary = &report.evaluation.summary;
    let compared = [arm, report.plan.baseline].map(|arm| summary.cell(scenario, size_bytes, arm));
    let any =
        |test: fn(&CellSummary, Metric) -> bool| compared.iter().flatten().any(|cell| test(cell, metric));
    if any(|cell, _| cell.valid_rounds.is_empty()) {
        "no valid round"
    } else if any(|cell, metric| cell.below_resolution.contains(&metric)) {
        labels::BELOW_RESOLUTION
    } else if any(|cell, metric| cell.metric(metric).is_none()) {
        "not reported"
    } else {
        "no round has both arms"
    }
}
