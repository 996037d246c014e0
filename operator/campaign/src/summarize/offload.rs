//! Warnings about work that the provider executes, or may execute, in software although the device could do it.

use crds::record::{OffloadFacts, ProtocolUse};
use crds::v1alpha1::{Answer, MemoryKind, TransferOperation};

use super::endpoints::EndpointIndex;
use super::protocols;
use crate::plan::{Cell, Plan, PlannedScenario};
use crate::posting::Burst;

/// Returns one warning for each arm and kind of work that is or may be executed in software. An answer that the library
/// does not provide is reported as unknown.
pub(super) fn warnings(plan: &Plan, endpoints: &EndpointIndex<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    for (arm, _, facts) in endpoints.all() {
        let name = plan.arms.get(arm).map_or("", |arm| arm.name.as_str());
        let cells = plan.scenarios.iter().flat_map(|scenario| {
            let of_arm = scenario.cells.iter().filter(move |cell| cell.arm == arm);
            of_arm.map(move |cell| (Uses::new(scenario), protocols_of(plan, scenario, cell, endpoints)))
        });
        let answers = cells.flat_map(|(uses, protocols)| uses.answers(&facts.offload, &protocols));
        for (what, answer) in answers {
            let warning = match answer {
                Answer::False => continue,
                Answer::True => {
                    format!("arm \"{name}\": {what} in software, so its results do not describe the device")
                }
                Answer::Unknown => {
                    let library = facts.library.as_ref().map_or_else(
                        || "the library".to_owned(),
                        |library| format!("{} {}", library.name, library.version),
                    );
                    format!("arm \"{name}\": {library} does not report whether {what} in software")
                }
            };
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

/// Protocols that the library used for the messages of `cell`, which belongs to `scenario`.
pub(super) fn protocols_of(
    plan: &Plan,
    scenario: &PlannedScenario,
    cell: &Cell,
    endpoints: &EndpointIndex<'_>,
) -> Vec<ProtocolUse> {
    let Some(arm) = plan.arms.get(cell.arm) else {
        return Vec::new();
    };
    let operation = Burst::from(&scenario.assignment.workload).operation;
    protocols::of_cell(
        endpoints.protocols(cell.arm),
        plan.transport_of(arm),
        operation,
        cell,
    )
}

/// Whether the provider executed the operations of `scenario` in software for `arm` on any worker, given the protocols
/// that the library used for them. `None` if the question does not apply to these operations.
pub(super) fn emulated(
    scenario: &PlannedScenario,
    endpoints: &EndpointIndex<'_>,
    arm: usize,
    protocols: &[ProtocolUse],
) -> Option<Answer> {
    let uses = Uses::new(scenario);
    let of_arm = endpoints.all().filter(|(of, _, _)| *of == arm);
    let answers = of_arm.flat_map(|(_, _, facts)| uses.answers(&facts.offload, protocols));
    answers.map(|(_, answer)| answer).reduce(Answer::or)
}

/// Work that a scenario causes and that a provider may execute in software.
#[derive(Clone, Copy)]
struct Uses {
    reads: bool,
    writes: bool,
    gpu_memory: bool,
}

impl Uses {
    fn new(scenario: &PlannedScenario) -> Self {
        let operation = Burst::from(&scenario.assignment.workload).operation;
        Self {
            reads: operation == TransferOperation::Read || scenario.assignment.workload.reads_back(),
            writes: matches!(
                operation,
                TransferOperation::Write | TransferOperation::WriteImmediate
            ),
            gpu_memory: scenario.assignment.memory == MemoryKind::Cuda,
        }
    }

    /// The kinds of work that the scenario depends on, each with its answer in `offload`, or in the protocols that the
    /// library used for the scenario's operation.
    fn answers(
        self,
        offload: &OffloadFacts,
        protocols: &[ProtocolUse],
    ) -> impl Iterator<Item = (&'static str, Answer)> + use<> {
        let settled = |answer| protocols::emulated(answer, protocols);
        let reads = offload.emulated_reads.filter(|_| self.reads).map(settled);
        let writes = offload.emulated_writes.filter(|_| self.writes).map(settled);
        [
            ("the provider emulates RMA reads", reads),
            ("the provider emulates RMA writes", writes),
            (
                "the provider copies GPU memory through host memory",
                offload.staged.filter(|_| self.gpu_memory),
            ),
        ]
        .into_iter()
        .filter_map(|(what, answer)| Some((what, answer?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_only_operations_that_the_run_uses() {
        let offload = OffloadFacts {
            emulated_reads: Some(Answer::True),
            emulated_writes: Some(Answer::Unknown),
            staged: Some(Answer::False),
            inline_bytes: None,
        };
        let answers = |rma, gpu_memory| -> Vec<(&str, Answer)> {
            let uses = Uses {
                reads: rma,
                writes: rma,
                gpu_memory,
            };
            uses.answers(&offload, &[]).collect()
        };
        let staged = (
            "the provider copies GPU memory through host memory",
            Answer::False,
        );
        assert_eq!(answers(false, false), []);
        assert_eq!(answers(false, true), [staged]);
        assert_eq!(
            answers(true, true),
            [
                ("the provider emulates RMA reads", Answer::True),
                ("the provider emulates RMA writes", Answer::Unknown),
                staged
            ]
        );
    }
}
