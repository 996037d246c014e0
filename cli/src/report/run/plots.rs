//! Plots of a run.

use campaign::compare::{ConditionalChange, FactorEffect};
use campaign::format;
use campaign::plan::{PlannedScenario, Role};
use campaign::summarize::{CellSummary, Knee, RatePoint, SweepSummary};
use crds::v1alpha1::{Metric, Optimization};

use super::results::has_values;
use super::{noise, overview};
use crate::report::document::{Block, Detail};
use crate::report::plot::{Axis, Color, Mark, Plot, PlotArm, Shape, SizeAxis, percent_label};
use crate::report::{Report, labels};

/// Maximum number of sizes with a plot of the tails.
const MAX_TAILS: usize = 12;
/// Maximum number of dots for rounds in a plot, over all arms and sizes. More dots would make the page too large.
const MAX_ROUND_DOTS: u64 = 3000;
/// Maximum change that an axis covers, in percent. Longer whiskers end at the edge of the plot with a mark, and rounds with
/// larger changes are drawn at the edge.
const MAX_CHANGE: f64 = 150.0;
/// Height of a plot.
const HEIGHT: u32 = 300;
/// Height of a plot that has many neighbors.
const LOW_HEIGHT: u32 = 260;
/// Vertical distance between neighboring arms in a row of changes.
const DOT_DISTANCE: u32 = 11;
/// Horizontal distance between the arms at one size, as a fraction of the axis.
const DODGE: f64 = 0.012;
/// Horizontal distance between the knees of two arms, as a fraction of the axis.
const KNEE_DODGE: f64 = 0.008;
/// Dash and gap lengths of a knee's line.
const KNEE_DASH: (u32, u32) = (3, 3);
/// Maximum number of labels of loads on an axis.
const MAX_LABELS: usize = 6;
/// Number of points in the curve of a tail.
const TAIL_POINTS: u32 = 80;

/// Metrics with a plot by size, in order. Only those with values are shown, because the axis of a plot without values
/// would be invented.
const PLOTTED: [Metric; 5] = [
    Metric::LatencyP50,
    Metric::ReportedLatency,
    Metric::Throughput,
    Metric::ReportedBandwidth,
    Metric::CpuSecondsPerGib,
];

/// Plots of the scenario with index `index`, and what they do not show.
pub(super) fn of_scenario(report: &Report<'_>, index: usize, scenario: &PlannedScenario) -> Vec<Block> {
    let metrics = PLOTTED
        .into_iter()
        .filter(|metric| has_values(report, index, *metric));
    let by_size = metrics.map(|metric| by_size(report, index, scenario, metric));
    let plots: Vec<Plot> = changes(report, index, scenario)
        .into_iter()
        .chain(by_size)
        .collect();
    let has_tails = has_values(report, index, Metric::LatencyP50);
    let tails = scenario.sizes.iter().take(MAX_TAILS).filter(|_| has_tails);
    let tails: Vec<Plot> = tails.filter_map(|size| tails_at(report, index, *size)).collect();
    let rounds = match shows_rounds(report, scenario) {
        true => "Small dots are rounds.".to_owned(),
        false => format!(
            "Rounds are not shown as dots, because there would be more than {MAX_ROUND_DOTS}. The JSON report contains them."
        ),
    };
    let whiskers = format!(
        "Whiskers in the plots by size show the 95 % signed-rank interval over the rounds, computed for each point separately, \
         or the range over the rounds if there are fewer than six. {rounds}"
    );
    let omitted = format!(
        "Only the first {MAX_TAILS} sizes have a plot. The table of values shows the quantiles for all sizes."
    );
    let note = |text: String| Block::note("", text, Detail::Full);
    let has_omitted = has_tails && scenario.sizes.len() > MAX_TAILS;
    [Block::Plots(plots), note(whiskers), Block::Plots(tails)]
        .into_iter()
        .chain(has_omitted.then(|| note(omitted)))
        .collect()
}

fn arm_of(report: &Report<'_>, index: usize) -> PlotArm {
    let arm = report.plan.arms.get(index);
    PlotArm {
        index,
        is_control: arm.is_some_and(|arm| arm.control.is_some()),
    }
}

/// Whether the plots of `scenario` show every round as a dot.
fn shows_rounds(report: &Report<'_>, scenario: &PlannedScenario) -> bool {
    let curves = report.plan.arms.len() as u64 * scenario.sizes.len() as u64;
    curves * u64::from(report.plan.rounds) <= MAX_ROUND_DOTS
}

/// Plot of every arm's change at every size: dots with whiskers for the intervals, and a band for the margin. `None` if
/// there are no changes.
fn changes(report: &Report<'_>, index: usize, scenario: &PlannedScenario) -> Option<Plot> {
    let plan = report.plan;
    let primary = report.evaluation.comparisons.primary();
    let compared = primary.filter(|one| one.scenario == index);
    let shows_rounds = shows_rounds(report, scenario);
    let (sizes, slots) = (scenario.sizes.len(), plan.arms.len().max(2) - 1);
    let arms: Vec<usize> = (0..plan.arms.len()).filter(|arm| *arm != plan.baseline).collect();
    let margin = f64::from(plan.sampling.margin_percent) / 100.0;
    let (least, most) = (-margin / (1.0 + margin) * 100.0, margin * 100.0);
    let rows = sizes as f64;
    let mut values = vec![least * 1.5, most * 1.5];
    let mut dots = Vec::new();
    for one in compared {
        let row = scenario.sizes.iter().position(|size| *size == one.size_bytes);
        let Some((effect, row)) = one.effect.zip(row) else {
            continue;
        };
        let rounds = one.round_percents.iter().filter(|_| shows_rounds);
        let rounds: Vec<f64> = rounds.copied().collect();
        let (low, high) = one.interval_percent().unwrap_or((effect.percent, effect.percent));
        let shown = [low, high, effect.percent]
            .into_iter()
            .chain(rounds.iter().copied());
        values.extend(shown.map(|change| change.clamp(-MAX_CHANGE, MAX_CHANGE)));
        // Rows are numbered from top to bottom, but the values of the axis increase from bottom to top.
        let slot = arms.iter().position(|arm| *arm == one.arm).unwrap_or_default();
        let y = rows - row as f64 - (slot as f64 + 1.0) / (slots as f64 + 1.0);
        let arm = PlotArm {
            index: one.arm,
            is_control: one.role == Role::ControlArm,
        };
        dots.push((arm, y, effect.percent, (low, high), rounds, one.verdict.is_some()));
    }
    if dots.is_empty() {
        return None;
    }
    let x = Axis::linear_around(values.into_iter(), 7, percent_label);
    let ticks = scenario.sizes.iter().enumerate();
    let ticks = ticks.map(|(row, size)| (rows - row as f64 - 0.5, format::size(*size)));
    let y = Axis::linear(0.0, rows, ticks.collect());
    let band = Mark {
        color: Color::Band,
        shape: Shape::Area((least, 0.0), (most, rows)),
    };
    let across = (-MAX_CHANGE * 10.0, MAX_CHANGE * 10.0);
    let separators = (1..sizes).map(|row| {
        let row = row as f64;
        Mark::line(Color::Grid, vec![(across.0, row), (across.1, row)], 1)
    });
    let zero = Mark::line(Color::Text, vec![(0.0, 0.0), (0.0, rows)], 1);
    let mut marks: Vec<Mark> = [band].into_iter().chain(separators).chain([zero]).collect();
    for (arm, y, percent, (low, high), rounds, has_verdict) in dots {
        marks.extend(rounds.into_iter().map(|change| arm.round((change, y))));
        if low < high {
            marks.push(arm.whisker((low, y), (high, y), 2));
        }
        marks.push(arm.outlined_marker((percent, y), 4, has_verdict));
        let ends = [(low.min(percent), false), (high.max(percent), true)];
        let beyond = ends.into_iter().filter(|(change, _)| !x.contains(*change));
        marks.extend(beyond.map(|(change, is_right)| arm.mark(Shape::Beyond((change, y), is_right))));
    }
    Some(Plot {
        description: format!(
            "Change at each size in scenario {}. The table of verdicts shows the same values",
            scenario.assignment.name
        ),
        caption: format!(
            "Change in {} at each size, with its interval. The band is the margin of {} %. Hollow dots have no verdict. A \
             chevron at the edge marks a change or an interval that extends beyond the plot. Noise floor: {}.",
            labels::metric_title(&scenario.assignment.workload, scenario.primary),
            plan.sampling.margin_percent,
            noise::floor(report, Some(index))
        ),
        height: (sizes * (slots + 1)) as u32 * DOT_DISTANCE + 76,
        x,
        x_title: "change from the baseline",
        y,
        has_rows: false,
        marks,
    })
}

/// Plot of `metric` by size for every arm, with intervals. Both axes are logarithmic.
fn by_size(report: &Report<'_>, index: usize, scenario: &PlannedScenario, metric: Metric) -> Plot {
    let shows_rounds = shows_rounds(report, scenario);
    let bound = overview::lowest_bound(report, index).filter(|_| metric == Metric::Throughput);
    let mut sizes = scenario.sizes.clone();
    sizes.sort_unstable();
    let SizeAxis { axis: x, low, high } = SizeAxis::new(sizes.iter().copied());
    let arms = report.plan.arms.len();
    let middle = (arms as f64 - 1.0) / 2.0;
    let mut values: Vec<f64> = bound.into_iter().collect();
    let line = |bound| Mark::line(Color::Text, vec![(low, bound), (high, bound)], 2);
    let mut marks: Vec<Mark> = bound.into_iter().map(line).collect();
    for index_of_arm in 0..arms {
        let arm = arm_of(report, index_of_arm);
        let dodge = (high / low).powf(DODGE * (index_of_arm as f64 - middle));
        let cells = report.evaluation.summary.cells.iter();
        let cells = cells.filter(|cell| (cell.scenario, cell.arm) == (index, index_of_arm));
        let points = cells.filter_map(|cell| Some((cell.size_bytes, cell.metric(metric)?)));
        let points: Vec<_> = points
            .map(|(size, summary)| (SizeAxis::position(size) * dodge, summary))
            .collect();
        let line = points.iter().map(|(x, summary)| (*x, summary.median));
        marks.push(arm.line(line.collect(), 1, 0.6));
        for (x, summary) in &points {
            let rounds = summary.values.iter().filter(|_| shows_rounds);
            let rounds: Vec<f64> = rounds.map(|(_, value)| *value).collect();
            values.extend(&rounds);
            marks.extend(rounds.into_iter().map(|value| arm.round((*x, value))));
        }
        for (x, summary) in points {
            values.push(summary.median);
            if summary.rounds > 1 {
                let range = (summary.min, summary.max);
                let (low, high) = summary.lower.zip(summary.upper).unwrap_or(range);
                values.extend([low, high]);
                marks.push(arm.whisker((x, low), (x, high), 2));
            }
            marks.push(arm.marker((x, summary.median), 3));
        }
    }
    let label: fn(f64) -> String = match metric {
        Metric::Throughput | Metric::ReportedBandwidth => format::bytes_per_second,
        Metric::CpuSecondsPerGib => |seconds| format::nanos(seconds * 1e9),
        Metric::MemoryPerConsumer => |bytes| format::bytes(bytes as u64),
        _ => format::nanos,
    };
    let title = match metric {
        Metric::CpuSecondsPerGib => {
            "CPU time of both sides by size, in seconds per GiB of payload".to_owned()
        }
        _ => format!(
            "{} by size",
            labels::metric_title(&scenario.assignment.workload, metric)
        ),
    };
    let bounds = overview::upper_bounds(report, index).filter(|_| metric == Metric::Throughput);
    let bounds = bounds.map(|bounds| format!(". The horizontal line is the lowest upper bound: {bounds}."));
    Plot {
        description: format!(
            "{metric} by size in scenario {}. The table of values shows the same values",
            scenario.assignment.name
        ),
        caption: format!("{title}{}", bounds.unwrap_or_default()),
        height: HEIGHT,
        x,
        x_title: "",
        y: Axis::logarithmic_around(values.into_iter(), label),
        has_rows: true,
        marks,
    }
}

/// Plot of the latency tails at `size`: quantiles from the median to the 99.99th percentile, on an axis that is logarithmic
/// in the exceedance probability. `None` if there is no latency to draw.
fn tails_at(report: &Report<'_>, index: usize, size: u64) -> Option<Plot> {
    let summary = &report.evaluation.summary;
    let cells = (0..report.plan.arms.len()).filter_map(|arm| summary.cell(index, size, arm));
    let curves: Vec<_> = cells.map(|cell| (cell.arm, tail(cell))).collect();
    let values = curves.iter().flat_map(|(_, points)| points);
    let values: Vec<f64> = values.map(|(_, nanos)| *nanos).collect();
    if values.is_empty() {
        return None;
    }
    // The axis counts nines: 99 % is at 2, 99.9 % at 3 and the median at 0.3.
    let labels = ["90 %", "99 %", "99.9 %", "99.99 %"];
    let nines = labels
        .iter()
        .enumerate()
        .map(|(index, label)| (index as f64 + 1.0, (*label).to_owned()));
    let ticks = [(median_position(), "50 %".to_owned())].into_iter().chain(nines);
    let curves = curves.into_iter();
    let size = format::size(size);
    Some(Plot {
        description: format!("Latency quantiles at {size}. The table of values shows the same values"),
        caption: format!("latency tails at {size}: quantiles of the pooled samples of all valid rounds"),
        height: LOW_HEIGHT,
        x: Axis::linear(median_position(), 4.0, ticks.collect()),
        x_title: "",
        y: Axis::logarithmic_around(values.into_iter(), format::nanos),
        has_rows: true,
        marks: curves
            .map(|(arm, points)| arm_of(report, arm).line(points, 2, 1.0))
            .collect(),
    })
}

/// Position of the median on the axis of the tails.
fn median_position() -> f64 {
    0.5_f64.log10().abs()
}

/// Quantiles of an arm on the axis of the tails. Latencies below the clock are not drawn.
fn tail(cell: &CellSummary) -> Vec<(f64, f64)> {
    let (latency, median) = (&cell.latency, median_position());
    let is_below_clock = |nanos: f64| cell.call.as_ref().is_some_and(|call| call.is_below_clock(nanos));
    let steps = (0..=TAIL_POINTS).map(|step| f64::from(step) / f64::from(TAIL_POINTS));
    let points = steps.map(|step| median + (4.0 - median) * step);
    // Quantiles beyond the last sample would only repeat the maximum.
    let observed = points.filter(|nines| 10f64.powf(*nines) <= latency.count() as f64 * 1.0001);
    observed
        .filter_map(|nines| {
            let nanos = latency.quantile(1.0 - 10f64.powf(-nines))? as f64;
            (!is_below_clock(nanos)).then_some((nines, nanos))
        })
        .collect()
}

/// Plot of the latency by rate in the sweep of which `first` is the first arm.
pub(super) fn of_sweep(report: &Report<'_>, first: &SweepSummary, arms: &[SweepSummary]) -> Plot {
    let curves = arms.iter().map(|arm| {
        let of = |value: fn(&RatePoint) -> Option<f64>| {
            let points = arm.points.iter();
            points
                .filter_map(|point| Some((f64::from(point.rate), value(point)?)))
                .collect()
        };
        LatencyCurve {
            arm: arm_of(report, arm.arm),
            p50: of(|point| point.p50_nanos),
            p99: of(|point| point.p99_nanos),
            knee: match arm.knee {
                Some(Knee::InRange { rate, .. }) => Some(rate.into()),
                _ => None,
            },
        }
    });
    let loads = first.points.iter().map(|point| point.rate).collect();
    let mut plot = by_load(curves.collect(), loads);
    plot.description = format!(
        "Latency by rate in the sweep {}. The table of all rates shows the same values",
        first.sweep
    );
    plot.caption = "latency from the intended start by rate (operations/s per thread): p99 (discs) and p50 (bars), medians \
                    over the rounds. The dashed vertical lines are the highest sustained rates."
        .to_owned();
    plot
}

/// Latencies of one arm by load.
pub struct LatencyCurve {
    /// The arm.
    pub arm: PlotArm,
    /// Loads and median latencies in nanoseconds, lowest load first.
    pub p50: Vec<(f64, f64)>,
    /// Loads and 99th percentiles of latency in nanoseconds.
    pub p99: Vec<(f64, f64)>,
    /// Highest sustained load, if it is known and within the range of the plot.
    pub knee: Option<f64>,
}

/// Plot of latency by load, which is a rate or a number of workers. Both axes are logarithmic. `loads` contains all loads,
/// lowest first.
pub fn by_load(curves: Vec<LatencyCurve>, loads: Vec<u32>) -> Plot {
    let latencies = curves.iter().flat_map(|curve| curve.p50.iter().chain(&curve.p99));
    let values: Vec<f64> = latencies.map(|(_, nanos)| *nanos).collect();
    let bottom = values.iter().copied().fold(f64::INFINITY, f64::min);
    let top = values.iter().copied().fold(0.0, f64::max);
    let first = f64::from(loads.first().copied().unwrap_or(1).max(1));
    let last = f64::from(loads.last().copied().unwrap_or(1).max(1));
    let ratio = (last / first).max(1.01);
    let (low, high) = (first / ratio.powf(0.05), last * ratio.powf(0.05));
    let every = loads.len().div_ceil(MAX_LABELS);
    let ticks = loads.iter().enumerate().map(|(index, load)| {
        let label = (index % every == 0).then(|| load.to_string());
        (f64::from(*load), label.unwrap_or_default())
    });
    let mut marks = Vec::new();
    for (index, curve) in curves.into_iter().enumerate() {
        let LatencyCurve { arm, p50, p99, knee } = curve;
        if let Some(knee) = knee {
            let knee = knee * (high / low).powf(KNEE_DODGE * index as f64);
            marks.push(arm.mark(Shape::Line {
                points: vec![(knee, bottom), (knee, top)],
                width: 2,
                opacity: 1.0,
                dash: Some(KNEE_DASH),
            }));
        }
        marks.push(arm.line(p50.clone(), 1, 1.0));
        marks.push(arm.line(p99.clone(), 2, 1.0));
        // Discs mark the 99th percentile, and short bars the median.
        marks.extend(p99.into_iter().map(|point| arm.marker(point, 3)));
        let half = (high / low).powf(KNEE_DODGE);
        let bars = p50.into_iter();
        marks.extend(bars.map(|(load, nanos)| arm.whisker((load / half, nanos), (load * half, nanos), 3)));
    }
    Plot {
        description: String::new(),
        caption: String::new(),
        height: HEIGHT,
        x: Axis::logarithmic(low, high, ticks.collect()),
        x_title: "",
        y: Axis::logarithmic_around(values.into_iter(), format::nanos),
        has_rows: true,
        marks,
    }
}

/// Plot of the change by the first factor of `pair` at each size, without and with the second factor.
pub fn interaction(effects: &[&FactorEffect], pair: [Optimization; 2]) -> Plot {
    let points = effects.iter().filter(|effect| effect.factors == pair);
    let points: Vec<(u64, [ConditionalChange; 2])> = points
        .filter_map(|effect| Some((effect.size_bytes, effect.conditional?)))
        .collect();
    // Ends of the whisker within the range of the axis. Without an interval, both are the change.
    let ends = |change: &ConditionalChange| {
        let (low, high) = change
            .interval_percent
            .unwrap_or((change.percent, change.percent));
        (low.max(-MAX_CHANGE), high.min(MAX_CHANGE.max(change.percent)))
    };
    let changes = points.iter().flat_map(|(_, changes)| changes);
    let values = changes.flat_map(|change| [change.percent, ends(change).0, ends(change).1]);
    let y = Axis::linear_around(values.chain([0.0]), 6, percent_label);
    let SizeAxis { axis: x, low, high } = SizeAxis::new(points.iter().map(|(size, _)| *size));
    let mut marks = vec![Mark::line(Color::Text, vec![(low, 0.0), (high, 0.0)], 1)];
    // The lines have the color of the first variant.
    let arm = PlotArm {
        index: 1,
        is_control: false,
    };
    for state in [0, 1] {
        let changes = points.iter().filter_map(|(size, changes)| {
            let change = changes.get(state)?;
            Some((SizeAxis::position(*size), change))
        });
        let changes: Vec<_> = changes.collect();
        let width = 1 + state as u32;
        for (x, change) in &changes {
            let (low, high) = ends(change);
            marks.push(arm.whisker((*x, low), (*x, high), width));
        }
        let line: Vec<(f64, f64)> = changes.iter().map(|(x, change)| (*x, change.percent)).collect();
        marks.push(arm.line(line.clone(), width, 1.0));
        let points = line.into_iter();
        marks.extend(points.map(|at| arm.outlined_marker(at, 4, state == 1)));
    }
    let [first, second] = pair.map(Optimization::name);
    Plot {
        description: format!(
            "Change by {first} without and with {second}. The table of effects shows the interactions"
        ),
        caption: format!(
            "Change by {first} at each size, without {second} (hollow discs) and with {second} (filled discs), with \
             intervals. The lines coincide if the factors do not interact, which only the interval of the interaction in the \
             table can show."
        ),
        height: LOW_HEIGHT,
        x,
        x_title: "",
        y,
        has_rows: true,
        marks,
    }
}
