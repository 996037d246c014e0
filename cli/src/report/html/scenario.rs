//! Section of one scenario: plots, tables and evidence.

use campaign::format;
use campaign::plan::{PlannedScenario, Role};
use campaign::summarize::CellSummary;
use crds::v1alpha1::{Metric, Optimization};
use maud::{Markup, html};

use super::legend::{is_control, legend};
use super::plot::{self, Curve, Curves, Dot, EffectPlot, Point, Tail};
use super::verdicts::arm_name;
use super::{HtmlError, factors, isolated, plot_markup, result_tables, serving};
use crate::report::{Report, differences, labels, noise, overview};

/// Maximum number of sizes with a tail plot.
const MAX_TAILS: usize = 12;
/// Maximum number of dots for rounds in a plot, over all arms and sizes. More dots would make the page too large.
const MAX_ROUND_DOTS: u64 = 3000;

/// Metrics with a plot by size, in order. Only those with values are shown.
const PLOTTED: [Metric; 5] = [
    Metric::LatencyP50,
    Metric::ReportedLatency,
    Metric::Throughput,
    Metric::ReportedBandwidth,
    Metric::CpuSecondsPerGib,
];

/// Section of the scenario with index `index`.
pub(super) fn section(report: &Report<'_>, index: usize) -> Result<Markup, HtmlError> {
    let Some(scenario) = report.plan.scenarios.get(index) else {
        return Ok(html! {});
    };
    let name = scenario.assignment.name.as_str();
    let effect = match effect_dots(report, index, scenario) {
        dots if dots.is_empty() => None,
        dots => Some(plot_markup(name, effect_plot(report, scenario, dots))?),
    };
    let mut curves = Vec::new();
    // A plot without values would have an invented axis.
    for metric in PLOTTED
        .into_iter()
        .filter(|metric| result_tables::has_values(report, index, *metric))
    {
        let svg = plot_markup(name, curve_plot(report, index, scenario, metric))?;
        curves.push((metric, svg));
    }
    let factors = factors::section(report, index, name)?;
    let mut tails = Vec::new();
    let has_tails = result_tables::has_values(report, index, Metric::LatencyP50);
    for size in scenario.sizes.iter().take(MAX_TAILS).filter(|_| has_tails) {
        if let Some(svg) = tail_plot(report, index, *size).transpose() {
            tails.push((*size, plot_markup(name, svg)?));
        }
    }
    Ok(html! {
        section id={ "scenario-" (index) } aria-labelledby={ "scenario-" (index) "-title" } {
            h2 id={ "scenario-" (index) "-title" } { "Scenario " (name) }
            (legend(report))
            div.plots {
                @if let Some(effect) = effect {
                  figure {
                    figcaption {
                        "Change in " (labels::metric_title(&scenario.assignment.workload, scenario.primary)) " at each size, with its interval. "
                        "The band is the margin of " (report.plan.sampling.margin_percent) " %. "
                        "Hollow dots have no verdict. A chevron at the edge marks a change or an interval that extends beyond the plot. "
                        "Noise floor: " (noise::floor(report, Some(index))) "."
                    }
                    (effect)
                  }
                }
                @for (metric, svg) in curves {
                    figure {
                        figcaption {
                            @if metric == Metric::CpuSecondsPerGib {
                                "CPU time of both sides by size, in seconds per GiB of payload"
                            } @else {
                                (labels::metric_title(&scenario.assignment.workload, metric)) " by size"
                            }
                            @if metric == Metric::Throughput {
                                @if let Some(bounds) = overview::upper_bounds(report, index) {
                                    ". The horizontal line is the lowest upper bound: " (bounds) "."
                                }
                            }
                        }
                        (svg)
                    }
                }
            }
            p.note {
                (WHISKERS) " "
                @if shows_rounds(report, scenario) {
                    "Small dots are rounds."
                } @else {
                    "Rounds are not shown as dots, because there would be more than " (MAX_ROUND_DOTS) ". The JSON report contains them."
                }
            }
            @if !tails.is_empty() {
                h3 { "Latency tails" }
                div.plots {
                    @for (size, svg) in tails {
                        figure { figcaption { (format::size(size)) ", quantiles of the pooled samples of all valid rounds" } (svg) }
                    }
                }
            }
            @if has_tails && scenario.sizes.len() > MAX_TAILS {
                p.note { "Only the first " (MAX_TAILS) " sizes have a plot. The results table shows the quantiles for all sizes." }
            }
            (factors)
            (result_tables::results(report, index))
            @if let Some(variance) = overview::variance(report, index) {
                p.note { "Variance: " (variance) "." }
            }
            (isolated::tests(report, index))
            (result_tables::observations(report, index))
            (result_tables::flows(report, index))
            (serving::workers(report, index))
            (result_tables::rails(report, index))
            (result_tables::other_metrics(report, index))
            (evidence(report, index))
        }
    })
}

const WHISKERS: &str = "Whiskers in the plots by size show the 95 % signed-rank interval over the rounds, computed for \
    each point separately, or the range over the rounds if there are fewer than six.";

/// Whether the plots of `scenario` show every round as a dot.
fn shows_rounds(report: &Report<'_>, scenario: &PlannedScenario) -> bool {
    let curves = report.plan.arms.len() as u64 * scenario.sizes.len() as u64;
    curves * u64::from(report.plan.rounds) <= MAX_ROUND_DOTS
}

/// Changes in the primary metric of the scenario with index `index`.
fn effect_dots(report: &Report<'_>, index: usize, scenario: &PlannedScenario) -> Vec<Dot> {
    let primary = report
        .evaluation
        .comparisons
        .primary()
        .filter(|one| one.scenario == index);
    let shows_rounds = shows_rounds(report, scenario);
    let dots = primary.filter_map(|one| {
        Some(Dot {
            rounds: if shows_rounds {
                one.round_percents.clone()
            } else {
                Vec::new()
            },
            row: scenario.sizes.iter().position(|size| *size == one.size_bytes)?,
            arm: one.arm,
            control: one.role == Role::ControlArm,
            has_verdict: one.verdict.is_some(),
            percent: one.effect?.percent,
            interval: one.interval_percent(),
        })
    });
    dots.collect()
}

fn effect_plot(
    report: &Report<'_>,
    scenario: &PlannedScenario,
    dots: Vec<Dot>,
) -> Result<String, plot::DrawError> {
    let baseline = report.plan.baseline;
    let arms: Vec<usize> = (0..report.plan.arms.len())
        .filter(|arm| *arm != baseline)
        .collect();
    let margin = f64::from(report.plan.sampling.margin_percent) / 100.0;
    plot::effects(&EffectPlot {
        description: &format!(
            "Change at each size in scenario {}. The verdict table shows the same values",
            scenario.assignment.name
        ),
        rows: scenario.sizes.iter().map(|size| format::size(*size)).collect(),
        dots,
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
    let shows_rounds = shows_rounds(report, scenario);
    let point = |cell: &CellSummary| {
        let summary = cell.metric(metric)?;
        let rounds = summary.values.iter().filter(|_| shows_rounds);
        let interval = summary
            .lower
            .zip(summary.upper)
            .unwrap_or((summary.min, summary.max));
        Some(Point {
            size: cell.size_bytes,
            value: summary.median,
            interval: (summary.rounds > 1).then_some(interval),
            rounds: rounds.map(|(_, value)| *value).collect(),
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
        description: &format!("{metric} by size in scenario {name}. The results table shows the same values"),
        sizes: sizes.clone(),
        curves: (0..report.plan.arms.len()).map(curve).collect(),
        upper_bound: (metric == Metric::Throughput)
            .then(|| lowest_bound(report, index))
            .flatten(),
        label: match metric {
            Metric::Throughput | Metric::ReportedBandwidth => format::bytes_per_second,
            Metric::CpuSecondsPerGib => |seconds| format::nanos(seconds * 1e9),
            Metric::MemoryPerConsumer => |bytes| format::bytes(bytes as u64),
            _ => format::nanos,
        },
    })
}

/// Lowest upper bound on the throughput of scenario `index`, in bytes per second.
fn lowest_bound(report: &Report<'_>, index: usize) -> Option<f64> {
    let bounds = report.evaluation.summary.upper_bounds.iter();
    let of_scenario = bounds.filter(|bound| bound.scenario == index);
    of_scenario.map(|bound| bound.bytes_per_second).reduce(f64::min)
}

/// Plot of the latency tails at `size`; `None` if there is no latency to draw.
fn tail_plot(report: &Report<'_>, index: usize, size: u64) -> Result<Option<String>, plot::DrawError> {
    let summary = &report.evaluation.summary;
    let cells = (0..report.plan.arms.len()).filter_map(|arm| summary.cell(index, size, arm));
    let tails: Vec<Tail<'_>> = cells
        .filter(|cell| cell.latency.count() > 0)
        .map(|cell| Tail {
            arm: cell.arm,
            control: is_control(report, cell.arm),
            latency: &cell.latency,
            call: cell.call.as_ref(),
        })
        .collect();
    let description = format!(
        "Latency quantiles at {}. The results table shows the same values",
        format::size(size)
    );
    plot::tails(&description, &tails)
}

/// Table that shows whether each optimization, environment variable, library and image took effect, with the evidence;
/// empty if there is nothing that could.
fn evidence(report: &Report<'_>, index: usize) -> Markup {
    let cells_of = |arm: usize| -> Vec<&CellSummary> {
        let cells = report.evaluation.summary.cells.iter();
        cells
            .filter(|cell| (cell.scenario, cell.arm) == (index, arm) && cell.cases > 0)
            .collect()
    };
    let mut rows: Vec<[String; 5]> = Vec::new();
    for arm in 0..report.plan.arms.len() {
        for optimization in [
            Optimization::Inject,
            Optimization::Doorbell,
            Optimization::Coalesce,
        ] {
            let engagements = overview::distinct_engagements(report.plan, arm, optimization, cells_of);
            rows.extend(engagements.into_iter().map(|(engagement, sizes, reason)| {
                [
                    arm_name(report, arm).to_owned(),
                    optimization.name().to_owned(),
                    format!("{engagement:?}"),
                    labels::sizes(&sizes),
                    reason.to_owned(),
                ]
            }));
        }
    }
    rows.extend(
        differences::of_scenario(report, index)
            .into_iter()
            .map(|difference| {
                let evidence = difference.evidence;
                [
                    difference.arm.to_owned(),
                    evidence.subject.clone(),
                    format!("{:?}", evidence.engagement),
                    "all".to_owned(),
                    format!("{:?}: {}", evidence.finding, evidence.reason),
                ]
            }),
    );
    html! {
        @if !rows.is_empty() {
            h3 { "Did the optimizations take effect?" }
            div.scroll tabindex="0" role="region" aria-label="Evidence" {
                table {
                    thead {
                        tr {
                            @for head in ["arm", "optimization or variable", "engagement", "sizes", "evidence"] {
                                th scope="col" { (head) }
                            }
                        }
                    }
                    tbody {
                        @for [arm, subject, engagement, sizes, evidence] in &rows {
                            tr {
                                th scope="row" { (arm) } td { code { (subject) } } td { (engagement) } td { (sizes) }
                                td { (evidence) }
                            }
                        }
                    }
                }
            }
        }
    }
}
