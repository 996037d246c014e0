//! Parameter serving: a plot and a table of the scaling with the worker count, and a table of each worker's results.

use campaign::format;
use maud::{Markup, html};

use super::legend::legend;
use super::plot::{self, LatencyCurve, LatencyPlot};
use super::verdicts::arm_name;
use super::{HtmlError, plot_markup};
use crate::report::Report;
use crate::report::serving::{Curve, LAG_COLUMNS, Point, curves, lag_cells};

/// Plots and table with the results for each worker count; empty if no scenario has several worker counts.
///
/// # Errors
/// Returns an error if a plot cannot be drawn.
pub(super) fn scaling(report: &Report<'_>) -> Result<Markup, HtmlError> {
    let curves = curves(report);
    // The arms of a scenario at one size are adjacent.
    let groups = curves.chunk_by(|one, other| (one.name, one.size_bytes) == (other.name, other.size_bytes));
    let mut figures = Vec::new();
    for arms in groups {
        figures.extend(figure(arms)?);
    }
    Ok(html! {
        @if !curves.is_empty() {
            section {
                h2 { "Scaling with the number of workers" }
                (legend(report))
                div.plots { @for figure in figures { (figure) } }
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
    })
}

/// Plot of the time from publication to use for `arms`, the curves of one scenario at one size; `None` if no arm has
/// values.
fn figure(arms: &[Curve<'_>]) -> Result<Option<Markup>, HtmlError> {
    let [first, ..] = arms else { return Ok(None) };
    let points = |curve: &Curve<'_>, nanos: fn(&Point<'_>) -> Option<u64>| -> Vec<(f64, f64)> {
        let points = curve.points.iter();
        points
            .filter_map(|point| Some((f64::from(point.workers), nanos(point)? as f64)))
            .collect()
    };
    let curves = arms.iter().map(|curve| LatencyCurve {
        arm: curve.arm,
        // Curves of control arms are not reported.
        control: false,
        p50: points(curve, |point| point.cell.latency.quantile(0.5)),
        p99: points(curve, |point| point.cell.latency.tail_quantile(0.99)),
        knee: None,
    });
    let curves: Vec<_> = curves.filter(|curve| !curve.p50.is_empty()).collect();
    if curves.is_empty() {
        return Ok(None);
    }
    let mut loads: Vec<u32> = first.points.iter().map(|point| point.workers).collect();
    loads.sort_unstable();
    let size = format::size(first.size_bytes);
    let svg = plot::latency(&LatencyPlot {
        description: &format!(
            "Time from publication to use by number of workers for {} at {size}. The table below shows the same medians",
            first.name
        ),
        loads,
        curves,
        label: format::nanos,
    });
    let svg = plot_markup(first.name, svg)?;
    Ok(Some(html! {
        figure {
            figcaption {
                (first.name) " at " (size) ": time from publication to use by number of workers, p99 (discs) and p50 (bars)"
            }
            (svg)
        }
    }))
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
