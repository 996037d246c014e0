//! Warnings about the pilot and the length of the windows: failed pilot cases, windows that are shorter than requested,
//! and runs that would exceed their deadline, for example because one arm is much slower than the fastest.

use std::collections::BTreeMap;

use crds::assignment::pilot::{MAX_ITERATIONS, PilotCount};
use crds::assignment::{Extent, Pass, Workload};
use crds::record::{CaseResult, Measurement};

use crate::collect::{Case, Reports};
use crate::format;
use crate::pilot::{operation_counts, pilot_counts};
use crate::plan::Plan;
use crate::stats::median_of;

/// Returns the warnings for every scenario and size whose number of operations depends on a pilot.
pub(super) fn warnings(plan: &Plan, reports: &Reports) -> Vec<String> {
    let mut cases: BTreeMap<(usize, u64), Cases<'_>> = BTreeMap::new();
    for case in &reports.cases {
        cases
            .entry((case.scenario, case.size_bytes))
            .or_default()
            .0
            .push(case);
    }
    let pilots = pilot_counts(plan, reports);
    let counts = operation_counts(plan, reports);
    let mut warnings = Vec::new();
    let mut seconds = 0.0;
    let mut raised = false;
    for ((scenario, size_bytes), cases) in cases {
        let Some(planned) = plan.scenarios.get(scenario) else {
            continue;
        };
        let workload = &planned.assignment.workload;
        let Extent::FillWindow {
            min_iterations,
            min_window_nanos,
        } = workload.measured()
        else {
            continue;
        };
        let at = format!("{} at {}", planned.assignment.name, format::size(size_bytes));
        warnings.extend(
            cases
                .pilot_failure_message()
                .map(|failed| format!("{at}: {failed}")),
        );
        if let Some((arm, nanos)) = cases.shortest_window(plan)
            && nanos < min_window_nanos as f64
        {
            let pilot = pilots.get(u32::try_from(scenario).unwrap_or(u32::MAX), size_bytes);
            warnings.push(format!(
                "{at}: the windows of arm \"{arm}\" last {} (median), less than sampling.minWindow {}: {}",
                format::nanos(nanos),
                format::nanos(min_window_nanos as f64),
                match planned.operation_counts.is_empty() {
                    true => reason(pilot, workload),
                    false => "operationCounts determines the number of operations".to_owned(),
                }
            ));
        }
        let count = counts
            .iter()
            .find(|count| (count.scenario as usize, count.size_bytes) == (scenario, size_bytes));
        if let Some(count) = count {
            // A run with several analyses may end after the first one.
            let rounds = plan.analyses.first().copied().unwrap_or(plan.rounds);
            let rounds = f64::from(rounds) * f64::from(plan.turns());
            raised |= count.iterations > min_iterations;
            seconds += cases.total_seconds_per_operation(workload) * f64::from(count.iterations) * rounds;
        }
    }
    if seconds > f64::from(plan.active_deadline_seconds) {
        let (cause, remedy) = if raised {
            (
                ", because all arms use the number of operations that the fastest arm needs",
                "a shorter sampling.minWindow, or minWindow: 0s with fewer iterations",
            )
        } else {
            ("", "fewer iterations")
        };
        warnings.push(format!(
            "the measured cases take about {seconds:.0} s at the speed of the pilot, longer than \
             runPolicy.activeDeadlineSeconds {}{cause}: raise the deadline, or use fewer rounds or sizes, or {remedy}",
            plan.active_deadline_seconds
        ));
    }
    warnings
}

/// Cases of one scenario at one size.
#[derive(Default)]
struct Cases<'a>(Vec<&'a Case>);

impl<'a> Cases<'a> {
    fn with_pass(&self, pass: Pass) -> impl Iterator<Item = &'a Case> {
        self.0.iter().copied().filter(move |case| case.pass == pass)
    }

    /// Measurements of the cases of `pass`, each with the index of its arm.
    fn measured(&self, pass: Pass) -> impl Iterator<Item = (usize, &'a Measurement)> {
        self.with_pass(pass).filter_map(|case| match &case.outcome {
            CaseResult::Measured(measured) => Some((case.arm, measured.as_ref())),
            CaseResult::Checked(_) | CaseResult::Failed(_) => None,
        })
    }

    fn pilot_failure_message(&self) -> Option<String> {
        let all = self.with_pass(Pass::Pilot).count();
        let mut failures = self
            .with_pass(Pass::Pilot)
            .filter_map(|case| match &case.outcome {
                CaseResult::Failed(failure) => Some(failure),
                CaseResult::Measured(_) | CaseResult::Checked(_) => None,
            });
        let first = failures.next()?;
        Some(format!(
            "{} of {all} pilot cases failed and were not used to determine the number of operations ({:?}: {})",
            1 + failures.count(),
            first.reason,
            first.message
        ))
    }

    /// Name of the arm with the shortest median window, and its length in nanoseconds.
    fn shortest_window<'p>(&self, plan: &'p Plan) -> Option<(&'p str, f64)> {
        let mut windows: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (arm, measured) in self.measured(Pass::Measure) {
            let nanos = measured.initiator.window_nanos as f64;
            windows.entry(arm).or_default().push(nanos);
        }
        let medians = windows
            .into_iter()
            .filter_map(|(arm, mut nanos)| Some((arm, median_of(&mut nanos)?)));
        let (arm, nanos) = medians.min_by(|one, other| one.1.total_cmp(&other.1))?;
        Some((plan.arm_name(arm), nanos))
    }

    /// Total time, in seconds, that the arms take to complete one operation per thread, one arm after another, each at
    /// the speed of its slowest pair in the pilot.
    fn total_seconds_per_operation(&self, workload: &Workload) -> f64 {
        let threads = f64::from(workload.threads());
        let mut slowest: BTreeMap<usize, f64> = BTreeMap::new();
        for (arm, measured) in self.measured(Pass::Pilot) {
            for posted in measured.posters(workload).filter(|posted| posted.operations > 0) {
                let seconds = posted.elapsed_nanos as f64 * 1e-9 * threads / posted.operations as f64;
                let known = slowest.entry(arm).or_default();
                *known = known.max(seconds);
            }
        }
        slowest.values().sum()
    }
}

/// Reason for windows that are shorter than requested. `pilot` contains the counts from the successful pilot cases.
fn reason(pilot: Option<PilotCount>, workload: &Workload) -> String {
    match pilot {
        None => "no pilot case succeeded, so iterations determines the number of operations".to_owned(),
        Some(count) if count.iterations(workload) == MAX_ITERATIONS => {
            format!("the number of operations is limited to {MAX_ITERATIONS}")
        }
        Some(count) if count.is_limited_by_deadline() => {
            "with more operations, the slowest arm would exceed its share of runPolicy.caseDeadlineSeconds"
                .to_owned()
        }
        Some(_) => "the measured cases were faster than the pilot".to_owned(),
    }
}

#[cfg(test)]
mod tests {

    use crds::record::{CaseFailure, FailureReason, Posted, SideReport};

    use super::*;
    use crate::fixture::{failed_case, run_from_yaml};
    use crate::validate::validate;

    const RUN: &str = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: test}\nspec:\n  \
                       baseline: a\n  transport: {loopback: {rails: 1}}\n  variants: [{name: a}, {name: b, inject: \
                       {maxBytes: 64}}]\n  scenarios: [{name: s, pingPong: {sizes: [64], iterations: 100}}]\n  \
                       sampling: {rounds: 12}\n";

    fn case(pass: Pass, arm: usize, outcome: CaseResult) -> Case {
        Case {
            round: u32::from(pass == Pass::Measure),
            restart: 0,
            pass,
            arm,
            outcome,
            ..failed_case()
        }
    }

    fn measured(operations: u64, nanos: u64) -> CaseResult {
        CaseResult::Measured(Box::new(Measurement {
            initiator: SideReport {
                window_nanos: nanos,
                posted: Some(Posted {
                    operations,
                    elapsed_nanos: nanos,
                    ..Posted::default()
                }),
                ..SideReport::default()
            },
            target: SideReport::default(),
        }))
    }

    fn failed_outcome() -> CaseResult {
        CaseResult::Failed(CaseFailure {
            reason: FailureReason::PeerLost,
            message: "rank 1 exited".to_owned(),
        })
    }

    fn warnings_of(cases: Vec<Case>) -> Vec<String> {
        warnings_with("", cases)
    }

    /// Warnings for `cases` of a run whose spec also contains the lines in `more`.
    fn warnings_with(more: &str, cases: Vec<Case>) -> Vec<String> {
        let run = run_from_yaml(&format!("{RUN}{more}"));
        let plan = crate::plan::plan(&validate(&run).unwrap()).unwrap();
        let reports = Reports {
            cases,
            ..Reports::default()
        };
        warnings(&plan, &reports)
    }

    #[test]
    fn windows_of_the_requested_length_cause_no_warning() {
        let cases = vec![
            case(Pass::Pilot, 0, measured(20_000, 20_000_000)),
            case(Pass::Measure, 0, measured(25_000, 24_000_000)),
        ];
        assert_eq!(warnings_of(cases), [""; 0]);
    }

    #[test]
    fn failed_pilot_cases_and_short_windows_are_reported() {
        let cases = vec![
            case(Pass::Pilot, 0, failed_outcome()),
            case(Pass::Pilot, 1, failed_outcome()),
            case(Pass::Measure, 0, measured(100, 100_000)),
        ];
        assert_eq!(
            warnings_of(cases),
            [
                "s at 64 B: 2 of 2 pilot cases failed and were not used to determine the number of operations (PeerLost: rank 1 exited)",
                "s at 64 B: the windows of arm \"a\" last 100 us (median), less than sampling.minWindow 20.0 ms: no pilot case \
                 succeeded, so iterations determines the number of operations",
            ]
        );
        let cases = vec![
            case(Pass::Pilot, 0, measured(20_000, 20_000_000)),
            case(Pass::Pilot, 1, failed_outcome()),
            case(Pass::Measure, 0, measured(25_000, 10_000_000)),
        ];
        let found = warnings_of(cases);
        assert!(found[0].contains("1 of 2 pilot cases failed"), "{found:?}");
        assert!(
            found[1].ends_with("the measured cases were faster than the pilot"),
            "{found:?}"
        );
    }

    #[test]
    fn slow_arm_that_shortens_windows_or_exceeds_the_deadline_is_reported() {
        // 1 us and 100 ms per operation: 150 operations of the slow arm take 15 s.
        let cases = vec![
            case(Pass::Pilot, 0, measured(20_000, 20_000_000)),
            case(Pass::Pilot, 1, measured(1, 100_000_000)),
            case(Pass::Measure, 0, measured(150, 150_000)),
        ];
        let found = warnings_of(cases);
        assert!(
            found[0].contains("exceed its share of runPolicy.caseDeadlineSeconds"),
            "{found:?}"
        );
        assert_eq!(found.len(), 1);
        // The minimum number of operations takes 1,200 s for each case of the slow arm.
        let cases = vec![case(Pass::Pilot, 1, measured(1, 12_000_000_000))];
        let found = warnings_of(cases);
        assert!(
            found[0].starts_with("the measured cases take about 14400 s at the speed of the pilot"),
            "{found:?}"
        );
        assert!(found[0].ends_with("sizes, or fewer iterations"), "{found:?}");
        // The fast arm needs 25,000 operations. The slow arm's share of the deadline, 15 s, limits the number to 1,500.
        let cases = vec![
            case(Pass::Pilot, 0, measured(20_000, 20_000_000)),
            case(Pass::Pilot, 1, measured(1, 10_000_000)),
        ];
        let found = warnings_with("  runPolicy: {activeDeadlineSeconds: 100}\n", cases);
        assert!(
            found[0].contains("because all arms use the number of operations that the fastest arm needs"),
            "{found:?}"
        );
    }
}
