//! Validates the scenarios of a run with the many-to-many pattern, whose flows must be active concurrently.

use crds::v1alpha1::{BenchmarkRunSpec, Direction, ManyToMany, ScenarioWorkload};

use super::ProblemKind;
use super::reporter::Reporter;

/// Maximum number of measuring threads of a worker, over all its flows.
const MAX_THREADS: u32 = 64;

/// Validates the workloads and the devices of a run with the many-to-many pattern.
pub(super) fn check(spec: &BenchmarkRunSpec, report: &mut Reporter) {
    let Some(pattern) = spec.placement.many_to_many() else {
        return;
    };
    if spec.devices.groups() > 1 {
        report.add("spec.devices.gpus", ProblemKind::MultipleGpusWithManyToMany);
    }
    for (index, scenario) in spec.scenarios.iter().enumerate() {
        if let Some(workload) = scenario.workload() {
            check_workload(&format!("spec.scenarios[{index}]"), workload, pattern, report);
        }
    }
}

fn check_workload(path: &str, workload: ScenarioWorkload<'_>, pattern: ManyToMany, report: &mut Reporter) {
    let transfer = match workload {
        ScenarioWorkload::Transfer(transfer) => transfer,
        ScenarioWorkload::SmallMessages(messages) => {
            if messages.load.is_some() {
                report.add(format!("{path}.smallMessages.load"), ProblemKind::OpenLoopFlows);
            }
            check_threads(format!("{path}.smallMessages"), 1, pattern, report);
            return;
        }
        ScenarioWorkload::ParameterServing(serving) => {
            for (index, workers) in serving.workers_in_pod(true).iter().enumerate() {
                let path = format!("{path}.parameterServing.workersPerNode[{index}]");
                check_threads(path, *workers, pattern, report);
            }
            return;
        }
        _ => {
            let path = format!("{path}.{}", workload.field());
            report.add(path, ProblemKind::WorkloadWithoutFlows);
            return;
        }
    };
    let mut add = |field: &str, kind| report.add(format!("{path}.transfer.{field}"), kind);
    if transfer.direction != Direction::Unidirectional {
        add("direction", ProblemKind::BidirectionalFlows);
    }
    if transfer.load.is_some() {
        add("load", ProblemKind::OpenLoopFlows);
    }
    if transfer.iterations.is_some() {
        add("iterations", ProblemKind::FlowsWithIterations);
    }
    check_threads(
        format!("{path}.transfer.threads"),
        transfer.threads,
        pattern,
        report,
    );
}

/// Reports at `path` that a worker's flows have too many threads in total.
fn check_threads(path: String, threads: u32, pattern: ManyToMany, report: &mut Reporter) {
    let flows = pattern.max_flows_of_a_worker();
    if threads.saturating_mul(flows) > MAX_THREADS {
        let max = MAX_THREADS;
        report.add(path, ProblemKind::TooManyFlowThreads { threads, flows, max });
    }
}
