//! Plots of a run.

mod changes;
mod load;

use campaign::format;
use campaign::plan::PlannedScenario;
use campaign::stats::Distribution;
use campaign::summarize::CallSummary;
use crds::v1alpha1::Metric;

use super::details::has_values;
use super::overview;
use crate::report::document::{Block, Detail};
use crate::report::plot::{Axis, Color, Mark, Plot, PlotArm, SizeAxis};
use crate::report::{Report, labels};
pub(super) use changes::interaction;
pub(super) use load::{LatencyCurve, by_load, of_sweep};

/// Maximum number of sizes with a plot of the tails.
const MAX_TAILS: usize = 12;
/// Maximum number of dots for rounds in a plot, over all arms and sizes. More dots would make the page too large.
const MAX_ROUND_DOTS: u64 = 3000;
/// Height of a plot.
const HEIGHT: u32 = 300;
/// Height of a plot that has many neighbors.
const LOW_HEIGHT: u32 = 260;
/// Horizontal distance between the arms at one size, as a fraction of the axis.
const DODGE: f64 = 0.012;
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
    let plots: Vec<Plot> = changes::changes(report, index, scenario)
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
        let cells = report.cells_of(index).map(|view| view.cell);
        let cells = cells.filter(|cell| cell.arm == index_of_arm);
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
    let curves: Vec<_> = cells
        .map(|cell| (cell.arm, tail(&cell.latency, cell.call.as_ref())))
        .collect();
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

/// Quantiles of an arm on the axis of the tails. Latencies of calls below the clock are not drawn.
fn tail(latency: &Distribution, call: Option<&CallSummary>) -> Vec<(f64, f64)> {
    let median = median_position();
    let is_below_clock = |nanos: f64| call.is_some_and(|call| call.is_below_clock(nanos));
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

#[cfg(test)]
mod tests {
    use crds::histogram::Histogram;
    use crds::v1alpha1::{CallSection, RpcPattern, RpcPayload};

    use super::*;

    #[test]
    fn calls_below_the_clock_are_not_drawn() {
        let mut samples = Histogram::new();
        (1..1000).for_each(|nanos| samples.record(nanos));
        let latency = Distribution::with_maximum(&samples, u64::MAX);
        let drawn = |clock_nanos: Option<f64>| {
            let call = CallSummary {
                payload: RpcPayload::SmallInt,
                pattern: RpcPattern::Call,
                section: CallSection::Successful,
                cause: None,
                message: None,
                hops: 1,
                is_open_loop: false,
                moments: None,
                clock_nanos,
                below_clock: true,
                memory_growth_bytes: None,
            };
            tail(&latency, Some(&call))
        };
        let all = drawn(None);
        assert_eq!(drawn(Some(1.0)), all);
        let some = drawn(Some(400.0));
        assert!(!some.is_empty() && some.len() < all.len());
        assert_eq!(drawn(Some(5_000.0)), []);
    }
}
