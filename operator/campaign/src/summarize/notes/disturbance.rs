//! Warnings about other work on the machines and interfaces of the workers. Performs no I/O.

use crds::record::{MAX_FOREIGN_CPU_SHARE, MAX_RUN_QUEUE_SHARE};
use crds::v1alpha1::FabricProof;

use crate::format;
use crate::summarize::values::cell_view::CellView;
use crate::summarize::values::disturbance::Disturbance;

/// One warning for each kind of disturbance, which names the result with the largest value.
pub(super) fn warnings(cells: &[CellView<'_>]) -> Vec<String> {
    let run_queue = shares(cells, MAX_RUN_QUEUE_SHARE, |found| found.run_queue_share).map(|found| {
        format!(
            "a thread of the instrument waited for a CPU for more than {}: use more CPUs, whole CPUs (spec.resources.cpus with the \
             static CPU policy of the kubelet), or stop other work on the machines",
            found.describe(&format!("{} % of the measured time", MAX_RUN_QUEUE_SHARE * 100.0))
        )
    });
    let foreign_cpu = shares(cells, MAX_FOREIGN_CPU_SHARE, |found| found.foreign_cpu_share).map(|found| {
        format!(
            "other processes used more than {}: stop them, or reserve the machines (spec.placement.exclusive)",
            found.describe(&format!("{} % of the worker's CPUs", MAX_FOREIGN_CPU_SHARE * 100.0))
        )
    });
    run_queue
        .into_iter()
        .chain(foreign_cpu)
        .chain(shared(cells))
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

fn shares(cells: &[CellView<'_>], limit: f64, share: fn(&Disturbance) -> Option<f64>) -> Option<Exceeded> {
    let known: Vec<(&CellView<'_>, f64)> = cells
        .iter()
        .filter_map(|view| Some((view, share(view.cell.disturbance.as_ref()?)?)))
        .collect();
    let exceeded = known.iter().filter(|(_, share)| *share > limit);
    let (view, largest) = exceeded.clone().max_by(|(_, one), (_, two)| one.total_cmp(two))?;
    Some(Exceeded {
        results: exceeded.count(),
        all: known.len(),
        largest: *largest,
        place: place(view),
    })
}

/// Results whose interfaces carried other traffic.
fn shared(cells: &[CellView<'_>]) -> Option<String> {
    let shared: Vec<(&CellView<'_>, &str)> = cells
        .iter()
        .filter_map(|view| Some((view, view.cell.proof_if(FabricProof::Shared)?.reason.as_str())))
        .collect();
    let measured = cells.iter().filter(|view| view.cell.fabric.is_some()).count();
    let bytes = |view: &CellView<'_>| view.cell.disturbance.and_then(|found| found.foreign_bytes);
    let (view, reason) = shared.iter().max_by_key(|(view, _)| bytes(view))?;
    Some(format!(
        "interfaces carried other traffic in {} of {measured} results; {}: {reason}",
        shared.len(),
        place(view)
    ))
}

fn place(view: &CellView<'_>) -> String {
    let (scenario, arm) = (&view.scenario.assignment.name, &view.arm.name);
    format!(
        "{scenario} at {}, arm \"{arm}\"",
        format::size(view.cell.size_bytes)
    )
}
