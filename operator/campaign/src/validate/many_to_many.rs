//! Validates the scenarios of a run with the many-to-many pattern, whose flows must be active concurrently.

use crds::v1alpha1::{BenchmarkRunSpec, Direction, ManyToMany, ScenarioWorkload};

use super::reporter::Reporter;

/// Maximum number of measuring threads of a worker, over all its flows.
const MAX_THREADS: u32 = 64;

/// Cause and fix if the transfers of flows are an open loop.
const OPEN_LOOP: &str = "if `spec.placement.pattern` is ManyToMany, a transfer starts as soon as an earlier one of its \
                         flow has completed. Remove `load`, or use `pattern: Pairwise`";

/// Validates the workloads and the devices of a run with the many-to-many pattern.
pub(super) fn check(spec: &BenchmarkRunSpec, report: &mut Reporter) {
    let Some(pattern) = spec.placement.many_to_many() else {
        return;
    };
    if spec.devices.groups() > 1 {
        report.add(
            "spec.devices.gpus",
            "`spec.placement.pattern: ManyToMany` supports one GPU per worker. Keep one GPU, or use \
             `pattern: Pairwise`",
        );
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
                report.add(format!("{path}.smallMessages.load"), OPEN_LOOP);
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
            report.add(
                path,
                "`spec.placement.pattern: ManyToMany` measures flows that are active at the same time, which \
                 only `transfer`, `smallMessages` and `parameterServing` support. Use one of them, or \
                 `pattern: Pairwise`",
            );
            return;
        }
    };
    let mut add = |field: &str, message: &str| report.add(format!("{path}.transfer.{field}"), message);
    if transfer.direction != Direction::Unidirectional {
        add(
            "direction",
            "if `spec.placement.pattern` is ManyToMany, only senders post transfers. Use `direction: \
             Unidirectional` or `pattern: Pairwise`",
        );
    }
    if transfer.load.is_some() {
        add("load", OPEN_LOOP);
    }
    if transfer.iterations.is_some() {
        add(
            "iterations",
            "if `spec.placement.pattern` is ManyToMany, all flows must be active for the same time, but a \
             fast flow would complete this number of transfers before the others. Use `duration`",
        );
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
        report.add(
            path,
            format!(
                "each flow has separate threads, so {threads} threads and {flows} flows of a worker need {}, \
                 more than {max}. Use fewer threads, senders or receivers",
                u64::from(threads) * u64::from(flows)
            ),
        );
    }
}
