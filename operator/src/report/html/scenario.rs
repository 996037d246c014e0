//! One scenario: effects, curves, tails, figures and evidence.

use crds::assignment::Workload;
use crds::v1alpha1::{Metric, Optimization};
use maud::{Markup, html};

use super::answers::arm_name;
use super::plot::{self, Curve, Curves, Dot, EffectPlot, Point, Tail};
use super::{HtmlError, drawn, figures_table};
use crate::campaign::compare::Role;
use crate::campaign::format;
use crate::campaign::plan::PlannedScenario;
use crate::campaign::summarize::CellSummary;
use crate::report::{Report, words};

/// Sizes whose tails are drawn.
const MAX_TAILS: usize = 12;

pub(super) fn section(report: &Report<'_>, index: usize) -> Result<Markup, HtmlError> {
    let Some(scenario) = report.plan.scenarios.get(index) else {
        return Ok(html! {});
    };
    let name = scenario.assignment.name.as_str();
    let ping_pong = matches!(scenario.assignment.workload, Workload::PingPong(_));
    let effect = drawn(name, effect_plot(report, index, scenario))?;
    let latency = drawn(name, curve_plot(report, index, scenario, Metric::LatencyP50))?;
    let throughput = drawn(name, curve_plot(report, index, scenario, Metric::Throughput))?;
    let cpu = drawn(
        name,
        curve_plot(report, index, scenario, Metric::CpuSecondsPerGib),
    )?;
    let mut tails = Vec::new();
    for size in scenario.sizes.iter().take(MAX_TAILS) {
        tails.push((*size, drawn(name, tail_plot(report, index, *size))?));
    }
    Ok(html! {
        section id={ "scenario-" (index) } aria-labelledby={ "scenario-" (index) "-title" } {
            h2 id={ "scenario-" (index) "-title" } { "Scenario " (name) }
            (legend(report))
            div.plots {
                figure {
                    figcaption {
                        "Change of " (words::metric_title(ping_pong, scenario.primary)) " at each size, with its interval. "
                        "The band is the margin of " (report.plan.sampling.margin_percent) " %; "
                        "hollow dots carry no verdict."
                        " Noise floor: " (words::noise(report, Some(index))) "."
                    }
                    (effect)
                }
                figure {
                    figcaption { (words::metric_title(ping_pong, Metric::LatencyP50)) " against size" }
                    (latency)
                }
                figure {
                    figcaption { "throughput against size" }
                    (throughput)
                }
                figure {
                    figcaption { "CPU seconds of both sides for a GiB, against size" }
                    (cpu)
                }
            }
            p.note { "Whiskers against size: " (point_interval()) }
            h3 { "Tails of latency" }
            div.plots {
                @for (size, svg) in tails {
                    figure { figcaption { (format::size(size)) ", quantiles of all valid rounds together" } (svg) }
                }
            }
            @if scenario.sizes.len() > MAX_TAILS {
                p.note { "Tails of the first " (MAX_TAILS) " sizes; quantiles of all are in the table." }
            }
            (figures_table::results(report, index))
            (figures_table::rails(report, index))
            (figures_table::other_metrics(report, index))
            (evidence(report, index))
        }
    })
}

fn point_interval() -> &'static str {
    "signed-rank interval of the rounds at 95 % for each point by itself, or their range where there are fewer than six."
}

fn legend(report: &Report<'_>) -> Markup {
    let arms = || report.plan.arms.iter().enumerate();
    html! {
        ul.legend aria-label="Arms" {
            @for (index, arm) in arms() {
                li { span class=(plot::mark_class(index, arm.control.is_some())) {} (arm.name) }
            }
        }
        @if arms().any(|(index, arm)| plot::is_second(index, arm.control.is_some())) {
            p.note { "Arms with a square have dashed lines." }
        }
    }
}

fn is_control(report: &Report<'_>, arm: usize) -> bool {
    report.plan.arms.get(arm).is_some_and(|arm| arm.control.is_some())
}

fn effect_plot(
    report: &Report<'_>,
    index: usize,
    scenario: &PlannedScenario,
) -> Result<String, plot::DrawError> {
    let baseline = report.plan.baseline;
    let arms: Vec<usize> = (0..report.plan.arms.len())
        .filter(|arm| *arm != baseline)
        .collect();
    let primary = report
        .evaluation
        .comparisons
        .primary()
        .filter(|one| one.scenario == index);
    let dots = primary.filter_map(|one| {
        Some(Dot {
            row: scenario.sizes.iter().position(|size| *size == one.size_bytes)?,
            arm: one.arm,
            control: one.role == Role::ControlArm,
            judged: one.verdict.is_some(),
            percent: one.effect?.percent,
            interval: one.interval_percent(),
        })
    });
    let margin = f64::from(report.plan.sampling.margin_percent) / 100.0;
    plot::effects(&EffectPlot {
        about: &format!(
            "Change at each size of scenario {}; the same figures are in the table of verdicts",
            scenario.assignment.name
        ),
        rows: scenario.sizes.iter().map(|size| format::size(*size)).collect(),
        dots: dots.collect(),
        arms,
        margin: (-margin / (1.0 + margin) * 100.0, margin * 100.0),
    })
}

fn curve_plot(
    report: &Report<'_>,
    index: usize,
    scenario: &PlannedScenario,
    metric: Metric,
) -> Result<String, plot::DrawError> {
    let point = |cell: &CellSummary| {
        let spread = cell.metric(metric)?;
        let interval = spread.lower.zip(spread.upper).unwrap_or((spread.min, spread.max));
        Some(Point {
            size: cell.size_bytes,
            value: spread.median,
            interval: (spread.rounds > 1).then_some(interval),
        })
    };
    let cells = &report.evaluation.summary.cells;
    let curve = |arm: usize| Curve {
        arm,
        control: is_control(report, arm),
        points: cells
            .iter()
            .filter(|cell| (cell.scenario, cell.arm) == (index, arm))
            .filter_map(point)
            .collect(),
    };
    let mut sizes = scenario.sizes.clone();
    sizes.sort_unstable();
    let name = &scenario.assignment.name;
    plot::curves(&Curves {
        about: &format!(
            "{metric} against size in scenario {name}; the same figures are in the table of results"
        ),
        sizes: sizes.iter().map(|size| (*size, format::size(*size))).collect(),
        curves: (0..report.plan.arms.len()).map(curve).collect(),
        label: match metric {
            Metric::Throughput => format::bytes_per_second,
            Metric::CpuSecondsPerGib => |seconds| format::nanos(seconds * 1e9),
            _ => format::nanos,
        },
    })
}

fn tail_plot(report: &Report<'_>, index: usize, size: u64) -> Result<String, plot::DrawError> {
    let summary = &report.evaluation.summary;
    let cells = (0..report.plan.arms.len()).filter_map(|arm| summary.cell(index, size, arm));
    let tails: Vec<Tail<'_>> = cells
        .filter(|cell| cell.latency.count() > 0)
        .map(|cell| Tail {
            arm: cell.arm,
            control: is_control(report, cell.arm),
            latency: &cell.latency,
        })
        .collect();
    let about = format!(
        "Quantiles of latency at {}; the same figures are in the table of results",
        format::size(size)
    );
    plot::tails(&about, &tails)
}

/// Did each optimization take part, and how is that known?
fn evidence(report: &Report<'_>, index: usize) -> Markup {
    let cells_of = |arm: usize| -> Vec<&CellSummary> {
        let cells = report.evaluation.summary.cells.iter();
        cells
            .filter(|cell| (cell.scenario, cell.arm) == (index, arm) && cell.cases > 0)
            .collect()
    };
    html! {
        h3 { "Did the optimizations take part?" }
        div.scroll tabindex="0" role="region" aria-label="Evidence" {
            table {
                thead {
                    tr {
                        th scope="col" { "variant" } th scope="col" { "optimization" } th scope="col" { "took part" }
                        th scope="col" { "sizes" } th scope="col" { "how that is known" }
                    }
                }
                tbody {
                    @for arm in 0..report.plan.arms.len() {
                        @for optimization in [Optimization::Inject, Optimization::Doorbell, Optimization::Coalesce] {
                            @for (engagement, sizes, reason) in words::engagements(&cells_of(arm), optimization) {
                                tr {
                                    th scope="row" { (arm_name(report, arm)) }
                                    td { (words::optimization(optimization)) }
                                    td { (format!("{engagement:?}")) }
                                    td { (words::sizes(&sizes)) }
                                    td { (reason) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
