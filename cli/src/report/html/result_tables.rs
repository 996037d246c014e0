//! Tables of one scenario: results of each arm, bytes on each rail and comparisons for every metric.

use campaign::compare::metric_name;
use campaign::format;
use campaign::summarize::{CellSummary, METRICS};
use crds::v1alpha1::Metric;
use maud::{Markup, html};

use super::verdicts::{arm_name, cell as comparison_cell};
use crate::report::arm_values::{self, latency_definition};
use crate::report::comparison::{ComparisonText, change};
use crate::report::{Report, labels, observations};

/// Table of the results of each arm at each size.
pub(super) fn results(report: &Report<'_>, index: usize) -> Markup {
    let cells = report
        .evaluation
        .summary
        .cells
        .iter()
        .filter(|cell| cell.scenario == index);
    let scenario = report.plan.scenarios.get(index);
    let workload = scenario.map(|scenario| &scenario.assignment.workload);
    let latency = workload.map_or("the time from post to completion", latency_definition);
    html! {
        details {
            summary { "Results of every arm and size" }
            p.note {
                "Latency is " (latency) ". Quantiles are computed from the pooled samples of all valid rounds. Rates and CPU time are medians "
                "over the rounds. Operations are counted per thread and case. CPU % is the CPU time of both sides divided by "
                "the window: 100 is one CPU. Waiting for a CPU is the time in a run queue of the thread that waited longest, as a share "
                "of the measured time. Other processes are their share of the time of the worker's CPUs. Other traffic is the "
                "number of bytes on the interfaces that neither the payload nor its headers explain. A value in brackets is the median, over the rounds, of the quantile computed from "
                "the raw samples (exclusive method, as in Python's statistics.quantiles). It is shown only if raw samples were stored."
            }
            div.scroll tabindex="0" role="region" aria-label="Results" {
                table.numbers {
                    thead {
                        tr {
                            @for head in [
                                "size", "arm", "rounds", "operations", "min", "p50", "p95", "p99", "p99.9", "max", "throughput",
                                "completions", "CPU (both sides)", "CPU %", "waiting for a CPU", "other processes", "other traffic", "fabric",
                                "invalid cases",
                            ] { th scope="col" { (head) } }
                        }
                    }
                    tbody { @for cell in cells { (result_row(report, cell)) } }
                }
            }
        }
    }
}

fn result_row(report: &Report<'_>, cell: &CellSummary) -> Markup {
    let scenario = report.plan.scenarios.get(cell.scenario);
    let is_command = scenario.is_some_and(|scenario| scenario.assignment.workload.command().is_some());
    let absent = if is_command && !cell.valid_rounds.is_empty() {
        "not reported"
    } else {
        "no valid case"
    };
    let in_latency = |quantile| arm_values::quantile(cell, quantile).unwrap_or_else(|| absent.to_owned());
    let exact =
        |nanos: Option<u64>| nanos.map_or_else(|| absent.to_owned(), |nanos| format::nanos(nanos as f64));
    let metric = |metric: Metric| {
        let value = scenario.and_then(|scenario| arm_values::metric(scenario, cell, metric));
        value.unwrap_or_else(|| absent.to_owned())
    };
    let iterations = match cell.iterations {
        Some(count) => count.to_string(),
        None if is_command || cell.valid_rounds.is_empty() => absent.to_owned(),
        None => "varies".to_owned(),
    };
    let exclusive = cell.exclusive_quantiles;
    let in_brackets =
        |nanos: Option<f64>| nanos.map_or_else(String::new, |nanos| format!(" [{}]", format::nanos(nanos)));
    let disturbance = cell.disturbance.unwrap_or_default();
    let share = |share: Option<f64>| {
        share.map_or_else(|| "unknown".to_owned(), |share| format!("{:.1} %", share * 100.0))
    };
    html! {
        tr {
            th scope="row" { (format::size(cell.size_bytes)) }
            td { (arm_name(report, cell.arm)) }
            td { (cell.valid_rounds.len()) }
            td { (iterations) }
            td { (exact(cell.min_nanos)) }
            td { (in_latency(0.5)) (in_brackets(exclusive.map(|raw| raw.p50_nanos))) }
            td { (in_latency(0.95)) (in_brackets(exclusive.map(|raw| raw.p95_nanos))) }
            td { (in_latency(0.99)) (in_brackets(exclusive.map(|raw| raw.p99_nanos))) }
            td { (in_latency(0.999)) }
            td { (exact(cell.max_nanos)) }
            td { (metric(Metric::Throughput)) }
            td { (metric(Metric::CompletionRate)) }
            td { (metric(Metric::CpuSecondsPerGib)) }
            td { (cell.cpu_percent.map_or_else(|| absent.to_owned(), |percent| format!("{percent:.0}"))) }
            td { (share(disturbance.run_queue_share)) }
            td { (share(disturbance.foreign_cpu_share)) }
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

/// Comparisons for every metric, without the baseline.
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
            @for metric in METRICS {
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
                                            td { (one.and_then(change).unwrap_or_else(|| "no valid round".to_owned())) }
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
