//! Warnings about load sweeps whose knees are uncertain.

use crds::assignment::{Extent, Workload};

use super::super::CellSummary;
use super::super::sweep::{Knee, SweepSummary, sweeps};
use crate::format;
use crate::plan::{Plan, PlannedScenario};

/// Minimum length of a window relative to the 99th percentile of latency at the lowest rate, below which individual
/// operations decide whether a rate is sustained.
const MIN_WINDOW_RATIO: f64 = 100.0;

/// Warnings about the sweeps in `cells`.
pub(super) fn warnings(plan: &Plan, cells: &[CellSummary]) -> Vec<String> {
    let sweeps = sweeps(plan, cells);
    let of_arms = sweeps.iter().flat_map(|sweep| {
        let short = short_windows(plan, cells, sweep);
        short.into_iter().chain(not_monotonic(plan, sweep))
    });
    let of_controls = sweeps
        .iter()
        .filter_map(|sweep| different_control(plan, &sweeps, sweep));
    of_arms.chain(of_controls).collect()
}

/// Warns about windows that are too short for the latency of the arm.
fn short_windows(plan: &Plan, cells: &[CellSummary], sweep: &SweepSummary) -> Option<String> {
    let point = sweep.points.first()?;
    let planned = scenario(plan, sweep)?;
    let key = (point.scenario, sweep.size_bytes, sweep.arm);
    let cell = cells
        .iter()
        .find(|cell| (cell.scenario, cell.size_bytes, cell.arm) == key)?;
    let workload = &planned.assignment.workload;
    let window = match workload.measured() {
        Extent::DurationNanos(nanos) => nanos as f64,
        _ => f64::from(cell.iterations?) * 1e9 / f64::from(point.rate),
    };
    let p99 = point.p99_nanos?;
    (window < MIN_WINDOW_RATIO * p99).then(|| {
        format!(
            "sweep {}: the windows of arm \"{}\" at {} {}/s last {}, less than {MIN_WINDOW_RATIO} times its \
             LatencyP99 of {}, so that individual {} decide whether a rate is sustained: use {}",
            sweep.sweep,
            arm(plan, sweep),
            point.rate,
            workload.started(),
            format::nanos(window),
            format::nanos(p99),
            workload.started(),
            longer_windows(workload),
        )
    })
}

/// Warns about a knee that a sustained rate above it contradicts.
fn not_monotonic(plan: &Plan, sweep: &SweepSummary) -> Option<String> {
    let higher = sweep.sustained_above_knee()?;
    let lower = sweep
        .points
        .iter()
        .find(|point| point.sustained == Some(false))?
        .rate;
    let planned = scenario(plan, sweep)?;
    Some(format!(
        "sweep {}: at {}, arm \"{}\" does not sustain {lower}/s but sustains {higher}/s, so its highest sustained rate is \
         uncertain: use more sampling.rounds or {}",
        sweep.sweep,
        format::size(sweep.size_bytes),
        arm(plan, sweep),
        longer_windows(&planned.assignment.workload),
    ))
}

/// Warns about a control whose knee differs from that of the baseline, which has the same settings.
fn different_control(plan: &Plan, sweeps: &[SweepSummary], control: &SweepSummary) -> Option<String> {
    plan.arms.get(control.arm)?.control?;
    let key = (&control.sweep, control.size_bytes, plan.baseline);
    let baseline = sweeps
        .iter()
        .find(|sweep| (&sweep.sweep, sweep.size_bytes, sweep.arm) == key)?;
    let (of_baseline, of_control): (Knee, Knee) = (baseline.knee?, control.knee?);
    (of_baseline != of_control).then(|| {
        format!(
            "sweep {}: at {}, the highest sustained rate of the baseline is {}, and that of \"{}\", a second copy of the \
             baseline, is {}: differences of this size between arms may be noise",
            control.sweep,
            format::size(control.size_bytes),
            baseline.describe(),
            arm(plan, control),
            control.describe(),
        )
    })
}

fn scenario<'a>(plan: &'a Plan, sweep: &SweepSummary) -> Option<&'a PlannedScenario> {
    plan.scenarios.get(sweep.points.first()?.scenario)
}

fn arm<'a>(plan: &'a Plan, sweep: &SweepSummary) -> &'a str {
    plan.arms.get(sweep.arm).map_or("", |arm| arm.name.as_str())
}

/// Fields that lengthen the windows of a sweep.
fn longer_windows(workload: &Workload) -> &'static str {
    match workload {
        Workload::Rpc(_) => "more rpc.iterations",
        _ => "a longer transfer.duration or sampling.minWindow",
    }
}
