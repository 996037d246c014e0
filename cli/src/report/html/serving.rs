//! Parameter serving tables: scaling with the worker count, and results of each worker.

use campaign::format;
use maud::{Markup, html};

use super::verdicts::arm_name;
use crate::report::Report;
use crate::report::serving::{LAG_COLUMNS, curves, lag_cells};

/// Table with the results for each worker count; empty if no scenario has several worker counts.
pub(super) fn scaling_table(report: &Report<'_>) -> Markup {
    let curves = curves(report);
    html! {
        @if !curves.is_empty() {
            section {
                h2 { "Scaling with the number of workers" }
                p.note {
                    "Lag is the mean number of newer versions over all steps. \"Used after\" is the median time from "
                    "the publication of a version to its use. The push time is the time from the publication of a "
                    "version until the trainer has delivered it to all workers. The table shows the median push time "
                    "over the versions that all workers received, and the number of these versions. In Push mode, the "
                    "rate counts the copies of all workers."
                }
                div.scroll tabindex="0" role="region" aria-label="Scaling with the number of workers" {
                    table.numbers {
                        thead {
                            tr {
                                @for head in ["scenario", "size", "arm", "workers", "lag", "used after", "push", "rate"] {
                                    th scope="col" { (head) }
                                }
                            }
                        }
                        tbody {
                            @for curve in &curves {
                                @for point in &curve.points {
                                    tr {
                                        th scope="row" { (curve.name) }
                                        td { (format::size(curve.size_bytes)) }
                                        td { (arm_name(report, curve.arm)) }
                                        td { (point.workers) }
                                        td { (point.lag()) }
                                        td { (point.latency().unwrap_or_default()) }
                                        td { (point.push_time().unwrap_or_default()) }
                                        td { (point.rate().unwrap_or_default()) }
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

/// Table of the workers in the scenario with index `index`; empty if the scenario is not parameter serving.
pub(super) fn workers(report: &Report<'_>, index: usize) -> Markup {
    let cells = report.evaluation.summary.cells.iter();
    let cells: Vec<_> = cells
        .filter(|cell| cell.scenario == index)
        .filter_map(|cell| Some((cell, cell.observations.serving.as_ref()?)))
        .collect();
    html! {
        @if !cells.is_empty() {
            details {
                summary { "Staleness of each worker" }
                p.note {
                    "The values cover all valid cases. Cold steps are the steps before the first version; they are \
                     excluded from all lags. A worker that received no version has no lag. The medians and "
                    "99th percentiles are the largest over all cases."
                }
                div.scroll tabindex="0" role="region" aria-label="Staleness of each worker" {
                    table.numbers {
                        thead {
                            tr {
                                @for head in ["size", "arm", "worker", "versions", "steps", "cold steps"] {
                                    th scope="col" { (head) }
                                }
                                @for head in LAG_COLUMNS { th scope="col" { (head) } }
                                @for head in ["torn", "lost datagrams"] { th scope="col" { (head) } }
                            }
                        }
                        tbody {
                            @for (cell, serving) in &cells {
                                @for (number, worker) in serving.workers.iter().enumerate() {
                                    tr {
                                        th scope="row" { (format::size(cell.size_bytes)) }
                                        td { (arm_name(report, cell.arm)) }
                                        td { (number) }
                                        td { (worker.versions) }
                                        td { (worker.steps) }
                                        td { (worker.cold_steps) }
                                        @for cell in lag_cells(worker) { td { (cell) } }
                                        td { (worker.torn) }
                                        td { @if serving.datagrams.is_some() { (worker.datagrams_lost) } }
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
