//! Section of the load sweeps: a plot of latency by rate, the knee of each arm, and a table of all rates.

use campaign::format;
use campaign::summarize::{Knee, RatePoint, SweepSummary};
use maud::{Markup, html};

use super::legend::{is_control, legend};
use super::plot::{self, LatencyCurve, LatencyPlot};
use super::{HtmlError, plot_markup};
use crate::report::Report;
use crate::report::sweep::{self, SweepText};

/// Renders the section; empty if the run has no sweep.
pub(super) fn section(report: &Report<'_>) -> Result<Markup, HtmlError> {
    let sweeps = sweep::sweeps(report);
    let mut parts = Vec::new();
    for sweep in &sweeps {
        parts.push(sweep_section(report, sweep)?);
    }
    Ok(html! {
        @if !parts.is_empty() {
            section #sweeps aria-labelledby="sweeps-title" {
                h2 #sweeps-title { "Load sweeps" }
                (legend(report))
                p.note { (sweep::rule()) " The capacity is the highest completion rate under overload." }
                @for part in parts { (part) }
            }
        }
    })
}

fn sweep_section(report: &Report<'_>, sweep: &SweepText<'_>) -> Result<Markup, HtmlError> {
    let svg = plot_markup(sweep.name, plot(report, sweep))?;
    Ok(html! {
        h3 { (sweep.name) ": " (sweep.title) }
        div.plots {
            figure {
                figcaption {
                    "latency from the intended start by rate (operations/s per thread): p99 (discs) and p50 (bars), medians over "
                    "the rounds. The dashed vertical lines are the highest sustained rates."
                }
                (svg)
            }
        }
        div.scroll tabindex="0" role="region" aria-label={ "Knees of " (sweep.name) } {
            table {
                thead { tr { @for head in ["arm", "highest sustained rate", "capacity"] { th scope="col" { (head) } } } }
                tbody {
                    @for arm in &sweep.arms {
                        tr {
                            th scope="row" { (sweep::arm_name(report, arm)) }
                            td { (arm.describe()) }
                            td { (sweep::capacity(arm).unwrap_or_else(|| "not reached".to_owned())) }
                        }
                    }
                }
            }
        }
        details {
            summary { "All rates of " (sweep.name) }
            div.scroll tabindex="0" role="region" aria-label={ "Rates of " (sweep.name) } {
                table.numbers {
                    thead {
                        tr {
                            @for head in ["arm", "rate", "completed", "completed share", "p50", "p99", "sustained"] {
                                th scope="col" { (head) }
                            }
                        }
                    }
                    tbody {
                        @for arm in &sweep.arms {
                            @for point in &arm.points { (row(report, arm, point)) }
                        }
                    }
                }
            }
        }
    })
}

fn row(report: &Report<'_>, arm: &SweepSummary, point: &RatePoint) -> Markup {
    let or_missing = |text: Option<String>| text.unwrap_or_else(|| "no valid case".to_owned());
    let completed = point.completed_rate.as_ref();
    html! {
        tr {
            th scope="row" { (sweep::arm_name(report, arm)) }
            td { (point.rate) "/s" }
            td { (or_missing(completed.map(|summary| format!("{:.0}/s", summary.median)))) }
            td { (or_missing(point.completed_share.map(|share| format!("{:.1} %", 100.0 * share)))) }
            td { (or_missing(point.p50_nanos.map(format::nanos))) }
            td { (or_missing(point.p99_nanos.map(format::nanos))) }
            td { (match point.sustained { Some(true) => "yes", Some(false) => "no", None => "unknown" }) }
        }
    }
}

fn plot(report: &Report<'_>, sweep: &SweepText<'_>) -> Result<String, plot::DrawError> {
    let curve = |arm: &&SweepSummary| {
        let of = |value: fn(&RatePoint) -> Option<f64>| {
            let points = arm.points.iter();
            points
                .filter_map(|point| Some((f64::from(point.rate), value(point)?)))
                .collect()
        };
        LatencyCurve {
            arm: arm.arm,
            control: is_control(report, arm.arm),
            p50: of(|point| point.p50_nanos),
            p99: of(|point| point.p99_nanos),
            knee: match arm.knee {
                Some(Knee::InRange { rate, .. }) => Some(rate.into()),
                _ => None,
            },
        }
    };
    let points = sweep.arms.first().map_or(&[][..], |arm| &arm.points);
    plot::latency(&LatencyPlot {
        description: &format!(
            "Latency by rate in the sweep {}. The table of all rates shows the same values",
            sweep.name
        ),
        loads: points.iter().map(|point| point.rate).collect(),
        curves: sweep.arms.iter().map(curve).collect(),
        label: format::nanos,
    })
}
