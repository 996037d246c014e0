//! Warnings about load sweeps whose knees are uncertain.

use crds::assignment::Extent;

use crate::format;
use crate::plan::{Plan, PlannedScenario};
use crate::summarize::values::cell_view::CellView;
use crate::summarize::values::sweep::{Knee, SweepSummary};
use crate::workload::rules;

/// Minimum length of a window relative to the 99th percentile of latency at the lowest rate, below which individual
/// operations decide whether a rate is sustained.
const MIN_WINDOW_RATIO: f64 = 100.0;

/// Warnings about `sweeps`, which were computed from `cells`.
pub(super) fn warnings(plan: &Plan, cells: &[CellView<'_>], sweeps: &[SweepSummary]) -> Vec<String> {
    let of_arms = sweeps.iter().flat_map(|sweep| {
        let short = short_windows(plan, cells, sweep);
        short.into_iter().chain(not_monotonic(plan, sweep))
    });
    let of_controls = sweeps
        .iter()
        .filter_map(|sweep| different_control(plan, sweeps, sweep));
    of_arms.chain(of_controls).collect()
}

/// Warns about windows that are too short for the latency of the arm.
fn short_windows(plan: &Plan, cells: &[CellView<'_>], sweep: &SweepSummary) -> Option<String> {
    let point = sweep.points.first()?;
    let key = (point.scenario, sweep.size_bytes, sweep.arm);
    let view = cells
        .iter()
        .find(|view| (view.cell.scenario, view.cell.size_bytes, view.cell.arm) == key)?;
    let (cell, workload) = (view.cell, &view.scenario.assignment.workload);
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
            rules(workload).longer_windows(),
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
        rules(&planned.assignment.workload).longer_windows(),
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
    plan.arm_name(sweep.arm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run_from_yaml;
    use crate::plan::HashedPlan;
    use crate::summarize::values::sweep::RatePoint;
    use crate::validate::validate;

    const RUN: &str = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: test}\nspec:\n  \
                       baseline: a\n  transport: {loopback: {}}\n  variants: [{name: a}, {name: b, inject: {maxBytes: 64}}]\n  \
                       scenarios:\n  - {name: rates, transfer: {operation: Send, sizes: [64], \
                       load: {sweep: {from: 1000, to: 4000, steps: 3}}}}\n";

    fn plan() -> HashedPlan {
        crate::plan::plan(&validate(&run_from_yaml(RUN)).unwrap()).unwrap()
    }

    /// Sweep of `arm` in which the rates are sustained as given.
    fn sweep(arm: usize, knee: Option<Knee>, sustained: [bool; 3]) -> SweepSummary {
        let point = |(scenario, sustained): (usize, bool)| RatePoint {
            scenario,
            rate: 1000 << scenario,
            completed_rate: None,
            completed_share: None,
            p50_nanos: None,
            p99_nanos: None,
            sustained: Some(sustained),
        };
        SweepSummary {
            sweep: "rates".to_owned(),
            size_bytes: 64,
            arm,
            points: sustained.into_iter().enumerate().map(point).collect(),
            knee,
            capacity: None,
        }
    }

    #[test]
    fn warns_about_a_rate_that_is_sustained_above_one_that_is_not() {
        let plan = plan();
        let text = not_monotonic(&plan, &sweep(0, Some(Knee::BelowRange), [false, true, true])).unwrap();
        assert_eq!(
            text,
            "sweep rates: at 64 B, arm \"a\" does not sustain 1000/s but sustains 2000/s, so its highest sustained rate is \
             uncertain: use more sampling.rounds or a longer transfer.duration or sampling.minWindow"
        );
        assert_eq!(not_monotonic(&plan, &sweep(0, None, [true, true, false])), None);
    }

    #[test]
    fn warns_about_a_control_whose_knee_is_not_that_of_the_baseline() {
        let plan = plan();
        let control = plan.arms.iter().position(|arm| arm.control.is_some()).unwrap();
        let knee = |rate| Some(Knee::InRange { rate, next: 2 * rate });
        let warning = |of_baseline, of_arm, arm| {
            let sweeps = [
                sweep(plan.baseline, of_baseline, [true; 3]),
                sweep(arm, of_arm, [true; 3]),
            ];
            different_control(&plan, &sweeps, &sweeps[1])
        };
        let text = warning(knee(1000), knee(2000), control).unwrap();
        assert!(
            text.contains("the baseline is 1000/s (not 2000/s)") && text.contains("is 2000/s (not 4000/s)"),
            "{text}"
        );
        assert_eq!(warning(knee(1000), knee(1000), control), None);
        assert_eq!(warning(knee(1000), None, control), None);
        // Arms with other settings may differ.
        assert_eq!(warning(knee(1000), knee(2000), 1), None);
    }
}
