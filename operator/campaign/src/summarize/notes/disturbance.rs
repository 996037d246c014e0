//! Warnings about other work on the machines and interfaces of the workers. Performs no I/O.

use crds::record::{MAX_FOREIGN_CPU_SHARE, MAX_RUN_QUEUE_SHARE};
use crds::v1alpha1::FabricProof;

use crate::format;
use crate::plan::Plan;
use crate::summarize::values::cell::CellSummary;
use crate::summarize::values::disturbance::Disturbance;

/// One warning for each kind of disturbance, which names the result with the largest value.
pub(super) fn warnings(plan: &Plan, cells: &[CellSummary]) -> Vec<String> {
    let run_queue = shares(plan, cells, MAX_RUN_QUEUE_SHARE, |found| found.run_queue_share).map(|found| {
        format!(
            "a thread of the instrument waited for a CPU for more than {}: use more CPUs, whole CPUs (spec.resources.cpus with the \
             static CPU policy of the kubelet), or stop other work on the machines",
            found.describe(&format!("{} % of the measured time", MAX_RUN_QUEUE_SHARE * 100.0))
        )
    });
    let foreign_cpu = shares(plan, cells, MAX_FOREIGN_CPU_SHARE, |found| found.foreign_cpu_share).map(|found| {
        format!(
            "other processes used more than {}: stop them, or reserve the machines (spec.placement.exclusive)",
            found.describe(&format!("{} % of the worker's CPUs", MAX_FOREIGN_CPU_SHARE * 100.0))
        )
    });
    run_queue
        .into_iter()
        .chain(foreign_cpu)
        .chain(shared(plan, cells))
        .collect()
}

/// Results whose share exceeds a limit.
struct Exceeded {
    results: usize,
    all: usize,
    largest: f64,
    place: String,
}

impl Exceeded {
    fn describe(&self, limit: &str) -> String {
        format!(
            "{limit} in {} of {} results, and for {:.0} % in {}",
            self.results,
            self.all,
            self.largest * 100.0,
            self.place
        )
    }
}

fn shares(
    plan: &Plan,
    cells: &[CellSummary],
    limit: f64,
    share: fn(&Disturbance) -> Option<f64>,
) -> Option<Exceeded> {
    let known: Vec<(&CellSummary, f64)> = cells
        .iter()
        .filter_map(|cell| Some((cell, share(cell.disturbance.as_ref()?)?)))
        .collect();
    let exceeded = known.iter().filter(|(_, share)| *share > limit);
    let (cell, largest) = exceeded.clone().max_by(|(_, one), (_, two)| one.total_cmp(two))?;
    Some(Exceeded {
        results: exceeded.count(),
        all: known.len(),
        largest: *largest,
        place: place(plan, cell),
    })
}

/// Results whose interfaces carried other traffic.
fn shared(plan: &Plan, cells: &[CellSummary]) -> Option<String> {
    let shared: Vec<(&CellSummary, &str)> = cells
        .iter()
        .filter_map(|cell| Some((cell, cell.proof_if(FabricProof::Shared)?.reason.as_str())))
        .collect();
    let measured = cells.iter().filter(|cell| cell.fabric.is_some()).count();
    let bytes = |cell: &CellSummary| cell.disturbance.and_then(|found| found.foreign_bytes);
    let (cell, reason) = shared.iter().max_by_key(|(cell, _)| bytes(cell))?;
    Some(format!(
        "interfaces carried other traffic in {} of {measured} results; {}: {reason}",
        shared.len(),
        place(plan, cell)
    ))
}

fn place(plan: &Plan, cell: &CellSummary) -> String {
    let (scenario, arm) = (plan.scenario_name(cell.scenario), plan.arm_name(cell.arm));
    format!("{scenario} at {}, arm \"{arm}\"", format::size(cell.size_bytes))
}
