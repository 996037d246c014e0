//! Checks whether rounds, samples and deadlines suffice for a verdict. Performs no I/O.

use crds::assignment::Extent;
use crds::v1alpha1::{Metric, Stop};

use super::note::{Notes, Severity};
use crate::format::pluralized;
use crate::plan::{Plan, PlannedScenario, case_limit_seconds, case_seconds, estimate};
use crate::stats::SPARE_ROUNDS;

/// Number of samples at which ten samples lie beyond the 99.9th percentile.
const P999_SAMPLES: u64 = 10_000;

pub(super) fn check(plan: &Plan, notes: &mut Notes) {
    for scenario in &plan.scenarios {
        check_rounds(plan, scenario, notes);
        check_tail(plan, scenario, notes);
        check_case_deadline(plan, scenario, notes);
    }
    if plan.sampling.stop == Stop::Settled && plan.analyses.len() == 1 {
        notes.add(
            Severity::Warning,
            format!(
                "sampling.stop is Settled, but {} rounds allow only one analysis, so no comparison can end early: raise \
                 sampling.rounds, or remove it to use the maximum",
                plan.rounds
            ),
        );
    }
    if !plan.sampling.control {
        notes.add(
            Severity::Notice,
            "sampling.control is false: the run will not measure the noise floor",
        );
    }
    let seconds = estimate(plan).seconds;
    if seconds > plan.active_deadline_seconds.into() {
        notes.add(
            Severity::Warning,
            format!(
                "the run may take {seconds} s, longer than runPolicy.activeDeadlineSeconds {}: raise the deadline, or \
                 use fewer rounds, sizes or iterations, or a shorter sampling.minWindow",
                plan.active_deadline_seconds
            ),
        );
    }
}

fn check_rounds(plan: &Plan, scenario: &PlannedScenario, notes: &mut Notes) {
    let PlannedScenario {
        comparisons,
        minimum_rounds,
        ..
    } = scenario;
    let (name, rounds) = (&scenario.assignment.name, plan.rounds);
    // Without comparisons, there are no verdicts.
    if *comparisons == 0 {
        return;
    }
    if rounds < *minimum_rounds {
        notes.add(
            Severity::Warning,
            format!(
                "scenario {name}: {} too few for a verdict on {}, so all will be Inconclusive: at least {minimum_rounds} \
                 are needed, {} are recommended",
                match rounds {
                    1 => "1 round is".to_owned(),
                    _ => format!("{rounds} rounds are"),
                },
                pluralized(u64::from(*comparisons), "comparison"),
                minimum_rounds + SPARE_ROUNDS
            ),
        );
    } else if rounds < minimum_rounds + SPARE_ROUNDS {
        notes.add(
            Severity::Notice,
            format!(
                "scenario {name}: with {rounds} rounds an interval covers nearly the whole range of the rounds, so one \
                 outlier can decide it: {} are recommended",
                minimum_rounds + SPARE_ROUNDS
            ),
        );
    }
}

fn check_tail(plan: &Plan, scenario: &PlannedScenario, notes: &mut Notes) {
    let name = &scenario.assignment.name;
    let expected = plan
        .expectations
        .iter()
        .any(|expectation| expectation.scenario == *name && expectation.metric == Metric::LatencyP999);
    let workload = &scenario.assignment.workload;
    let threads = u64::from(workload.threads());
    if let Extent::Iterations(iterations)
    | Extent::FillWindow {
        min_iterations: iterations,
        ..
    } = workload.measured()
        && u64::from(iterations) * threads < P999_SAMPLES
        && (expected || scenario.primary == Metric::LatencyP999)
    {
        notes.add(
            Severity::Warning,
            format!(
                "scenario {name}: iterations {iterations} does not ensure {P999_SAMPLES} samples, and with fewer, \
                 LatencyP99_9 is close to the maximum: use {P999_SAMPLES} or more"
            ),
        );
    }
}

fn check_case_deadline(plan: &Plan, scenario: &PlannedScenario, notes: &mut Notes) {
    let slow = scenario
        .sizes
        .iter()
        .filter(|size| case_seconds(plan, scenario, **size) > case_limit_seconds(plan, scenario, **size));
    if let Some(size) = slow.min() {
        notes.add(
            Severity::Warning,
            format!(
                "scenario {}: a case of {} may take longer than its limit of {:.0} s: raise \
                 runPolicy.caseDeadlineSeconds, or use fewer iterations",
                scenario.assignment.name,
                crds::units::Size(*size),
                case_limit_seconds(plan, scenario, *size)
            ),
        );
    }
}
