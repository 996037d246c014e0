//! Tables of one scenario: what each arm did, and the comparisons on all metrics.

use crds::assignment::Workload;
use crds::v1alpha1::Metric;
use maud::{Markup, html};

use super::answers::{arm_name, cell as answer_cell};
use crate::campaign::compare::metric_name;
use crate::campaign::format;
use crate::campaign::summarize::{CellSummary, METRICS};
use crate::report::{Report, words};

/// What each arm did at each size.
pub(super) fn results(report: &Report<'_>, index: usize) -> Markup {
    let cells = report
        .evaluation
        .summary
        .cells
        .iter()
        .filter(|cell| cell.scenario == index);
    let ping_pong = report
        .plan
        .scenarios
        .get(index)
        .is_some_and(|scenario| matches!(scenario.assignment.workload, Workload::PingPong(_)));
    html! {
        details {
            summary { "Results of every arm and size" }
            p.note {
                "Latency is " @if ping_pong { "half a round trip" } @else { "from post to completion" }
                ". Quantiles are those of all valid rounds together; rates and CPU time are medians of the rounds. "
                "In brackets: by exclusive interpolation of the raw samples, where they were kept; the median of the rounds."
            }
            div.scroll tabindex="0" role="region" aria-label="Results" {
                table.numbers {
                    thead {
                        tr {
                            @for head in [
                                "size", "arm", "rounds", "min", "p50", "p95", "p99", "p99.9", "max", "throughput",
                                "completions", "CPU, both sides", "fabric", "not valid",
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
    let quantile = |quantile: f64| match cell.latency.quantile(quantile) {
        Some(nanos) => format::nanos(nanos as f64),
        None => "no valid case".to_owned(),
    };
    let exact = |nanos: Option<u64>| {
        nanos.map_or_else(
            || "no valid case".to_owned(),
            |nanos| format::nanos(nanos as f64),
        )
    };
    let metric = |metric: Metric| match cell.metric(metric) {
        Some(spread) => words::figure(metric, spread.median),
        None => "no valid case".to_owned(),
    };
    let exclusive = cell.exclusive_quantiles;
    let beside =
        |nanos: Option<f64>| nanos.map_or_else(String::new, |nanos| format!(" [{}]", format::nanos(nanos)));
    html! {
        tr {
            th scope="row" { (format::size(cell.size_bytes)) }
            td { (arm_name(report, cell.arm)) }
            td { (cell.valid_rounds.len()) }
            td { (exact(cell.min_nanos)) }
            td { (quantile(0.5)) (beside(exclusive.map(|raw| raw.p50_nanos))) }
            td { (quantile(0.95)) (beside(exclusive.map(|raw| raw.p95_nanos))) }
            td { (quantile(0.99)) (beside(exclusive.map(|raw| raw.p99_nanos))) }
            td { (quantile(0.999)) }
            td { (exact(cell.max_nanos)) }
            td { (metric(Metric::Throughput)) }
            td { (metric(Metric::CompletionRate)) }
            td { (metric(Metric::CpuSecondsPerGib)) }
            td { (cell.fabric.as_ref().map_or("not measured", |proof| words::proof(proof.proof))) }
            td.text { (cell.invalid_reason().unwrap_or_else(|| "none".to_owned())) }
        }
    }
}

/// Bytes that the initiators posted on each rail, where there is more than one.
pub(super) fn rails(report: &Report<'_>, index: usize) -> Markup {
    let cells = report.evaluation.summary.cells.iter();
    let of_cell = |cell: &&CellSummary| cell.scenario == index && cell.counters.bytes_per_rail.len() > 1;
    let cells: Vec<&CellSummary> = cells.filter(of_cell).collect();
    let bytes = |cell: &CellSummary, rail: usize| cell.counters.bytes_per_rail.get(rail).copied();
    let rails = cells.iter().map(|cell| cell.counters.bytes_per_rail.len()).max();
    html! {
        @if let Some(rails) = rails {
            details {
                summary { "Bytes on each rail" }
                p.note { "Posted by the initiators in all valid cases together." }
                div.scroll tabindex="0" role="region" aria-label="Bytes on each rail" {
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
                                        td { (bytes(cell, rail).map_or_else(|| "no such rail".to_owned(), format::bytes)) }
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

/// Every metric's comparisons, the primary one first.
pub(super) fn other_metrics(report: &Report<'_>, index: usize) -> Markup {
    let Some(scenario) = report.plan.scenarios.get(index) else {
        return html! {};
    };
    let plan = report.plan;
    let arms: Vec<usize> = (0..plan.arms.len()).filter(|arm| *arm != plan.baseline).collect();
    html! {
        details {
            summary { "Change of every metric" }
            p.note { "Verdicts are read off " (metric_name(scenario.primary)) " only; the others are described." }
            @for metric in METRICS {
                div.scroll tabindex="0" role="region" aria-label=(metric_name(metric)) {
                    table.matrix {
                        caption { (metric_name(metric)) @if metric == scenario.primary { " (primary)" } }
                        thead {
                            tr {
                                th scope="col" { "variant" }
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
                                            (answer_cell(one.map(words::answer).as_ref()))
                                        } @else {
                                            td { (one.and_then(words::change).unwrap_or_else(|| "no valid round".to_owned())) }
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
