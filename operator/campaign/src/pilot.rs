//! Determines operation counts from the pilot cases of a run. Performs no I/O.

use std::collections::BTreeMap;

use crds::assignment::pilot::{self, PilotCounts};
use crds::assignment::{OperationCount, Pass, Workload};
use crds::record::{CaseResult, Measurement};

use crate::collect::Reports;
use crate::plan::Plan;
use crate::workload::rules;

/// Operation count for every scenario and size for which the spec sets a count or `reports` contain pilot cases. Pilot
/// cases yield the largest number that any arm or pair needs, limited so that the slowest arm or pair stays within its
/// share of the case deadline.
///
/// Once a measured case exists, its operation count applies, so that all rounds of a run use the same count even when a
/// pilot case is repeated later.
pub fn operation_counts(plan: &Plan, reports: &Reports) -> Vec<OperationCount> {
    let scenarios = (0_u32..).zip(&plan.scenarios);
    let given = scenarios.flat_map(|(index, scenario)| {
        let counts = scenario.operation_counts.iter();
        counts.map(move |(size_bytes, iterations)| ((index, *size_bytes), *iterations))
    });
    let mut counts: BTreeMap<(u32, u64), u32> = given.collect();
    for ((scenario, size_bytes), count) in pilot_counts(plan, reports).iter() {
        if let Some(scenario_of_plan) = plan.scenarios.get(scenario as usize) {
            let iterations = count.iterations(&scenario_of_plan.assignment.workload);
            counts.insert((scenario, size_bytes), iterations);
        }
    }
    let mut used: BTreeMap<(u32, u64), u32> = BTreeMap::new();
    for (key, workload, measured) in cases(plan, reports, Pass::Measure) {
        if let Some(count) = iterations_of(workload, measured).filter(|count| *count > 0) {
            used.entry(key).or_insert(count);
        }
    }
    counts.extend(used);
    let count = |((scenario, size_bytes), iterations)| OperationCount {
        scenario,
        size_bytes,
        iterations,
    };
    counts.into_iter().map(count).collect()
}

/// Counts of the pilot cases in `reports`.
pub fn pilot_counts(plan: &Plan, reports: &Reports) -> PilotCounts {
    let mut counts = PilotCounts::default();
    for (key, workload, measured) in cases(plan, reports, Pass::Pilot) {
        let workers = measured
            .posters(workload)
            .map(|posted| (posted.operations, posted.elapsed_nanos));
        counts.add(key, workload, plan.case_deadline_seconds, workers);
    }
    counts
}

/// Successful cases of `pass` whose number of operations depends on a pilot, each with its scenario and size, workload,
/// and measurements.
fn cases<'a>(
    plan: &'a Plan,
    reports: &'a Reports,
    pass: Pass,
) -> impl Iterator<Item = ((u32, u64), &'a Workload, &'a Measurement)> {
    reports.cases.iter().filter_map(move |case| {
        let workload = &plan.scenarios.get(case.scenario)?.assignment.workload;
        let CaseResult::Measured(measured) = &case.outcome else {
            return None;
        };
        let is_wanted = case.pass == pass && pilot::extent(workload).is_some();
        let scenario = u32::try_from(case.scenario).ok()?;
        is_wanted.then_some(((scenario, case.size_bytes), workload, measured.as_ref()))
    })
}

/// Number of operations per thread of a measured case; `None` if its threads completed different numbers, or perform other
/// operations than the same one repeatedly.
pub fn iterations_of(workload: &Workload, measured: &Measurement) -> Option<u32> {
    if !rules(workload).repeats_operations() {
        return None;
    }
    let threads = u64::from(workload.threads());
    let mut counts = measured.posters(workload).map(|posted| posted.timed().0);
    let first = counts.next()?;
    let same = counts.all(|count| count == first) && first.is_multiple_of(threads);
    same.then(|| u32::try_from(first / threads).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use crds::record::{Posted, SideReport};

    use super::*;
    use crate::collect::Case;
    use crate::validate::validate;

    const RUN: &str = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: test}\nspec:\n  \
                       baseline: a\n  transport: {loopback: {rails: 1}}\n  variants: [{name: a}, {name: b, inject: \
                       {maxBytes: 64}}]\n  scenarios: [{name: s, transfer: {sizes: [64, 128], operation: Send, \
                       threads: 2, iterations: 100}}]\n";

    /// A case in which two threads complete `operations` operations in 20 ms.
    fn case(pass: Pass, size_bytes: u64, arm: usize, operations: u64) -> Case {
        let initiator = SideReport {
            posted: Some(Posted {
                operations,
                elapsed_nanos: 20_000_000,
                ..Posted::default()
            }),
            ..SideReport::default()
        };
        Case {
            leg: 0,
            attempt: 1,
            block: 0,
            round: u32::from(pass == Pass::Measure),
            restart: 0,
            pass,
            scenario: 0,
            size_bytes,
            arm,
            initiator: 0,
            target: 1,
            started_nanos: 0,
            span_nanos: None,
            outcome: CaseResult::Measured(Box::new(Measurement {
                initiator,
                target: SideReport::default(),
            })),
        }
    }

    fn counts(cases: Vec<Case>) -> Vec<(u64, u32)> {
        let run = crate::fixture::run_from_yaml(RUN);
        let plan = crate::plan::plan(&validate(&run).unwrap()).unwrap();
        let reports = Reports {
            cases,
            ..Reports::default()
        };
        let counts = operation_counts(&plan, &reports).into_iter();
        counts.map(|count| (count.size_bytes, count.iterations)).collect()
    }

    #[test]
    fn fastest_case_determines_the_count_for_all() {
        let slow = case(Pass::Pilot, 64, 0, 2_000);
        let fast = case(Pass::Pilot, 64, 1, 4_000);
        let other_size = case(Pass::Pilot, 128, 0, 20);
        assert_eq!(counts(vec![slow, fast, other_size]), [(64, 2_500), (128, 100)]);
    }

    #[test]
    fn slowest_case_limits_the_count_to_its_share_of_the_deadline() {
        let fast = case(Pass::Pilot, 64, 1, 4_000_000);
        let slow = case(Pass::Pilot, 64, 0, 2);
        // The slowest case may take at most a quarter of the deadline of 60 s, that is, 15 s. Each thread takes 20 ms
        // per operation.
        assert_eq!(counts(vec![fast, slow]), [(64, 750)]);
    }

    #[test]
    fn measured_cases_keep_their_count_after_a_faster_pilot() {
        let pilot = case(Pass::Pilot, 64, 0, 2_000);
        let measured = case(Pass::Measure, 64, 0, 2_500);
        let repeated = case(Pass::Pilot, 64, 1, 40_000);
        assert_eq!(counts(vec![pilot, measured, repeated]), [(64, 1_250)]);
    }

    #[test]
    fn no_count_is_determined_without_a_successful_pilot() {
        let integrity = case(Pass::Integrity, 64, 0, 2_000);
        let empty = case(Pass::Pilot, 64, 0, 0);
        assert_eq!(counts(vec![integrity, empty]), []);
    }
}
