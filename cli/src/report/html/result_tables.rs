//! Tables of one scenario: results of each arm, bytes on each rail and comparisons for every metric.

use campaign::compare::metric_name;
use campaign::format;
use campaign::plan::PlannedScenario;
use campaign::summarize::{CellSummary, ExclusiveMedians, METRICS};
use campaign::workload::rules;
use crds::assignment::Workload;
use crds::v1alpha1::Metric;
use maud::{Markup, html};

use super::verdicts::{arm_name, cell as comparison_cell};
use crate::report::arm_values;
use crate::report::comparison::{ComparisonText, change};
use crate::report::{Report, isolated, labels, observations};

/// A row of the table of results.
struct Row<'a> {
    report: &'a Report<'a>,
    scenario: &'a PlannedScenario,
    cell: &'a CellSummary,
}

impl Row<'_> {
    fn is_command(&self) -> bool {
        self.scenario.assignment.workload.command().is_some()
    }

    /// Quantile of the pooled samples, followed in brackets by the one computed from the raw samples, if they were stored.
    fn quantile(&self, quantile: f64, exclusive: fn(ExclusiveMedians) -> f64) -> Option<String> {
        let pooled = arm_values::quantile(self.cell, quantile)?;
        let exclusive = self.cell.exclusive_quantiles.map(exclusive);
        Some(match exclusive {
            Some(nanos) => format!("{pooled} [{}]", isolated::time(self.cell, nanos)),
            None => pooled,
        })
    }

    fn time(&self, nanos: Option<u64>) -> Option<String> {
        nanos.map(|nanos| isolated::time(self.cell, nanos as f64))
    }

    fn metric(&self, metric: Metric) -> Option<String> {
        arm_values::metric(self.scenario, self.cell, metric)
    }

    /// What a column shows if the arm has no value for it.
    fn absence(&self) -> &'static str {
        match (self.cell.valid_rounds.is_empty(), self.is_command()) {
            (true, _) => "no valid case",
            (false, true) => "not reported",
            (false, false) => "not measured",
        }
    }
}

/// Formats the value of a column; `None` if there is none.
type Value = fn(&Row<'_>) -> Option<String>;

/// Columns that are shown only if the scenario has values for them.
const VALUES: [(&str, Value); 14] = [
    ("operations", |row| match row.cell.iterations {
        Some(count) => Some(count.to_string()),
        None if row.is_command() || row.cell.valid_rounds.is_empty() => None,
        None => Some("varies".to_owned()),
    }),
    ("min", |row| row.time(row.cell.min_nanos)),
    ("p50", |row| row.quantile(0.5, |raw| raw.p50_nanos)),
    ("p95", |row| row.quantile(0.95, |raw| raw.p95_nanos)),
    ("p99", |row| row.quantile(0.99, |raw| raw.p99_nanos)),
    ("p99.9", |row| arm_values::quantile(row.cell, 0.999)),
    ("max", |row| row.time(row.cell.max_nanos)),
    ("throughput", |row| row.metric(Metric::Throughput)),
    ("reported latency", |row| row.metric(Metric::ReportedLatency)),
    ("reported bandwidth", |row| row.metric(Metric::ReportedBandwidth)),
    ("completions", |row| row.metric(Metric::CompletionRate)),
    ("CPU (both sides)", |row| row.metric(Metric::CpuSecondsPerGib)),
    ("CPU %", |row| {
        row.cell.cpu_percent.map(|percent| format!("{percent:.0}"))
    }),
    ("waiting for a CPU", |row| {
        share(row.cell.disturbance?.run_queue_share)
    }),
];

/// Formats a share of the measured time.
fn share(share: Option<f64>) -> Option<String> {
    share.map(|share| format!("{:.1} %", share * 100.0))
}

/// Explains the columns of the table of results, except those without values.
fn explanations(workload: &Workload, shown: &[&str]) -> String {
    let has = |column: &str| shown.contains(&column);
    let latency = format!(
        "Latency is {}. Quantiles are computed from the pooled samples of all valid rounds. A value in brackets is the \
         median, over the rounds, of the quantile computed from the raw samples (exclusive method, as in Python's \
         statistics.quantiles). It is shown only if raw samples were stored.",
        rules(workload).latency_definition()
    );
    let below = "Calls that take less than twice the time of one reading of the clock, which is in brackets, are below the \
        clock. The tails begin above it.";
    let reported =
        "Reported values are medians over the rounds of the values that the command's tool printed.";
    let rates = "Rates and CPU time are medians over the rounds.";
    let operations = "Operations are counted per thread and case.";
    let cpu = "CPU % is the CPU time of both sides divided by the window: 100 is one CPU.";
    let waiting = "Waiting for a CPU is the time in a run queue of the thread that waited longest, as a share of the \
        measured time.";
    let others = "Other processes are their share of the time of the worker's CPUs. Other traffic is the number of bytes \
        on the interfaces that neither the payload nor its headers explain.";
    let sentences = [
        (has("p50"), latency.as_str()),
        (has("min") && matches!(workload, Workload::Rpc(_)), below),
        (has("reported latency") || has("reported bandwidth"), reported),
        (
            has("throughput") || has("completions") || has("CPU (both sides)"),
            rates,
        ),
        (has("operations"), operations),
        (has("CPU %"), cpu),
        (has("waiting for a CPU"), waiting),
        (true, others),
    ];
    let applicable: Vec<&str> = sentences
        .iter()
        .filter(|(applies, _)| *applies)
        .map(|(_, text)| *text)
        .collect();
    applicable.join(" ")
}

/// Table of the results of each arm at each size.
pub(super) fn results(report: &Report<'_>, index: usize) -> Markup {
    let Some(scenario) = report.plan.scenarios.get(index) else {
        return html! {};
    };
    let cells = report.evaluation.summary.cells.iter();
    let rows: Vec<Row<'_>> = cells
        .filter(|cell| cell.scenario == index)
        .map(|cell| Row {
            report,
            scenario,
            cell,
        })
        .collect();
    let columns: Vec<(&str, Value)> = VALUES
        .into_iter()
        .filter(|(_, value)| rows.iter().any(|row| value(row).is_some()))
        .collect();
    let shown: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    html! {
        details {
            summary { "Results of every arm and size" }
            p.note { (explanations(&scenario.assignment.workload, &shown)) }
            div.scroll tabindex="0" role="region" aria-label="Results" {
                table.numbers {
                    thead {
                        tr {
                            @for head in ["size", "arm", "rounds"] { th scope="col" { (head) } }
                            @for head in &shown { th scope="col" { (head) } }
                            @for head in ["other processes", "other traffic", "fabric", "invalid cases"] {
                                th scope="col" { (head) }
                            }
                        }
                    }
                    tbody { @for row in &rows { (result_row(row, &columns)) } }
                }
            }
        }
    }
}

fn result_row(row: &Row<'_>, columns: &[(&str, Value)]) -> Markup {
    let cell = row.cell;
    let disturbance = cell.disturbance.unwrap_or_default();
    html! {
        tr {
            th scope="row" { (format::size(cell.size_bytes)) }
            td { (arm_name(row.report, cell.arm)) }
            td { (cell.valid_rounds.len()) }
            @for (_, value) in columns { td { (value(row).unwrap_or_else(|| row.absence().to_owned())) } }
            td { (share(disturbance.foreign_cpu_share).unwrap_or_else(|| "unknown".to_owned())) }
            td { (disturbance.foreign_bytes.map_or_else(|| "unknown".to_owned(), format::bytes)) }
            td { (cell.fabric.as_ref().map_or("not measured", |proof| labels::fabric_proof(proof.proof))) }
            td.text { (cell.invalid_reason().unwrap_or_else(|| "none".to_owned())) }
        }
    }
}

/// Table of observations: round trips, directions, flushes, pings, flows, reads, first batches and staleness. Empty if
/// there are no observations.
pub(super) fn observations(report: &Report<'_>, index: usize) -> Markup {
    let observations = observations::of_scenario(report, index);
    html! {
        @if !observations.is_empty() {
            details {
                summary { "Observations" }
                p.note {
                    "Each direction is timed by its own sender. A flush is timed from the local completion of a message. A ping is a "
                    "message of 8 bytes that is returned immediately; the ratio of its 99th percentiles shows \
                     head-of-line blocking. "
                    "Fairness is Jain's index over the flows that are active at the same time: 1 if all have the \
                     same rate. Reads fetch the data that a batch has written. "
                    "The first batch is the first warm-up batch of each case. "
                    "Staleness excludes the steps that a worker runs before it receives its first version."
                }
                div.scroll tabindex="0" role="region" aria-label="Observations" {
                    table.numbers {
                        thead {
                            tr { @for head in ["size", "arm", "observation", "values"] { th scope="col" { (head) } } }
                        }
                        tbody {
                            @for one in &observations {
                                tr {
                                    th scope="row" { (format::size(one.cell.size_bytes)) }
                                    td { (arm_name(report, one.cell.arm)) }
                                    td.text { (one.kind.heading()) }
                                    td.text { (one.text) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Table of the rates of each flow and each receiver in the many-to-many pattern; empty for other patterns.
pub(super) fn flows(report: &Report<'_>, index: usize) -> Markup {
    let cells = report.evaluation.summary.cells.iter();
    let cells = cells.filter(|cell| cell.scenario == index);
    let cells: Vec<_> = cells
        .filter_map(|cell| Some((cell, cell.flows.as_ref()?)))
        .collect();
    html! {
        @if !cells.is_empty() {
            details {
                summary { "Rate of each flow" }
                p.note {
                    "Median payload rate over the rounds while all flows are active. The rate of a receiver is the \
                     sum over its flows."
                }
                div.scroll tabindex="0" role="region" aria-label="Rate of each flow" {
                    table.numbers {
                        thead {
                            tr { @for head in ["size", "arm", "from", "to", "rate"] { th scope="col" { (head) } } }
                        }
                        tbody {
                            @for (cell, found) in &cells {
                                @for flow in &found.flows {
                                    tr {
                                        th scope="row" { (format::size(cell.size_bytes)) }
                                        td { (arm_name(report, cell.arm)) }
                                        td { "rank " (flow.sender) }
                                        td { "rank " (flow.receiver) }
                                        td { (format::bytes_per_second(flow.bytes_per_second)) }
                                    }
                                }
                                @for receiver in &found.receivers {
                                    tr {
                                        th scope="row" { (format::size(cell.size_bytes)) }
                                        td { (arm_name(report, cell.arm)) }
                                        td { "all senders" }
                                        td { "rank " (receiver.receiver) }
                                        td { (format::bytes_per_second(receiver.bytes_per_second)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Bytes that the initiators posted on each rail; empty with a single rail.
pub(super) fn rails(report: &Report<'_>, index: usize) -> Markup {
    let cells = report.evaluation.summary.cells.iter();
    let has_several_rails =
        |cell: &&CellSummary| cell.scenario == index && cell.counters.bytes_per_rail.len() > 1;
    let cells: Vec<&CellSummary> = cells.filter(has_several_rails).collect();
    let bytes = |cell: &CellSummary, rail: usize| cell.counters.bytes_per_rail.get(rail).copied();
    let rails = cells.iter().map(|cell| cell.counters.bytes_per_rail.len()).max();
    html! {
        @if let Some(rails) = rails {
            details {
                summary { "Bytes per rail" }
                p.note { "Total bytes that the initiators posted in all valid cases." }
                div.scroll tabindex="0" role="region" aria-label="Bytes per rail" {
                    table.numbers {
                        thead {
                            tr {
                                th scope="col" { "size" } th scope="col" { "arm" }
                                @for rail in 0..rails { th scope="col" { "rail " (rail) } }
                            }
                        }
                        tbody {
                            @for cell in cells {
                                tr {
                                    th scope="row" { (format::size(cell.size_bytes)) }
                                    td { (arm_name(report, cell.arm)) }
                                    @for rail in 0..rails {
                                        td { (bytes(cell, rail).map_or_else(|| "not used".to_owned(), format::bytes)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Whether any arm has a value of `metric` at any size of the scenario with index `index`.
pub(super) fn has_values(report: &Report<'_>, index: usize, metric: Metric) -> bool {
    let mut cells = report.evaluation.summary.cells.iter();
    cells.any(|cell| cell.scenario == index && cell.metric(metric).is_some())
}

/// Whether "Changes in every metric" shows `metric`: the primary metric, and metrics of which any arm has a value or the
/// tool printed 0.
fn is_shown(report: &Report<'_>, index: usize, scenario: &PlannedScenario, metric: Metric) -> bool {
    let mut cells = report.evaluation.summary.cells.iter();
    metric == scenario.primary
        || has_values(report, index, metric)
        || cells.any(|cell| cell.scenario == index && cell.below_resolution.contains(&metric))
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

/// Comparisons for the primary metric and every metric that has values, without the baseline.
pub(super) fn other_metrics(report: &Report<'_>, index: usize) -> Markup {
    let Some(scenario) = report.plan.scenarios.get(index) else {
        return html! {};
    };
    let plan = report.plan;
    let arms: Vec<usize> = (0..plan.arms.len()).filter(|arm| *arm != plan.baseline).collect();
    html! {
        details {
            summary { "Changes in every metric" }
            p.note { "Only the primary metric, " (metric_name(scenario.primary)) ", gets verdicts. The other metrics are descriptive." }
            @for metric in METRICS.into_iter().filter(|metric| is_shown(report, index, scenario, *metric)) {
                div.scroll tabindex="0" role="region" aria-label=(metric_name(metric)) {
                    table.matrix {
                        caption { (metric_name(metric)) @if metric == scenario.primary { " (primary)" } }
                        thead {
                            tr {
                                th scope="col" { "arm" }
                                @for size in &scenario.sizes { th scope="col" { (format::size(*size)) } }
                            }
                        }
                        tbody {
                            @for arm in &arms {
                                tr {
                                    th scope="row" { (arm_name(report, *arm)) }
                                    @for size in &scenario.sizes {
                                        @let one = report.evaluation.comparisons.find(index, *size, *arm, metric);
                                        @if metric == scenario.primary {
                                            (comparison_cell(one.map(|one| ComparisonText::with_emulation_mark(report, one)).as_ref()))
                                        } @else {
                                            td {
                                                (one.and_then(change)
                                                    .unwrap_or_else(|| absence(report, (index, *size, *arm), metric).to_owned()))
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
