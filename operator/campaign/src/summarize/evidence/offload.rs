//! Warnings about work that the provider executes, or may execute, in software although the device could do it.

use crds::protocols::{self, ServingProtocols};
use crds::record::{OffloadFacts, ProtocolUse};
use crds::v1alpha1::{Answer, MemoryKind, TransferOperation};

use crate::plan::{Cell, Plan, PlannedScenario};
use crate::posting::Burst;
use crate::summarize::workers::endpoints::EndpointIndex;

/// Returns one warning for each arm and kind of work that is or may be executed in software. Answers that the library
/// does not provide are reported as unknown.
pub(in crate::summarize) fn warnings(plan: &Plan, endpoints: &EndpointIndex<'_>) -> Vec<String> {
    let mut warnings: Vec<_> = (0..)
        .zip(&plan.arms)
        .filter_map(|(index, arm)| {
            let omitted = endpoints.protocols(index)?.omitted;
            (omitted > 0).then(|| {
                format!(
                    "arm \"{}\": the records omit {omitted} library protocols, so it is unknown whether protocols \
                     other than the reported ones served its operations",
                    arm.name
                )
            })
        })
        .collect();
    for (arm, _, facts) in endpoints.all() {
        let name = plan.arm_name(arm);
        let cells = plan.scenarios.iter().flat_map(|scenario| {
            let arm_cells = scenario.cells.iter().filter(move |cell| cell.arm == arm);
            arm_cells.map(move |cell| {
                (
                    ScenarioWork::new(scenario),
                    protocols_of(plan, scenario, cell, endpoints),
                )
            })
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

/// Protocols that the library used for the operations of one arm at one size.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::summarize) struct OperationProtocols {
    /// Protocols of the scenario's operation.
    operation: ServingProtocols,
    /// Protocols of the reads of written memory; `None` if the scenario has no such reads.
    read_backs: Option<ServingProtocols>,
}

impl OperationProtocols {
    /// The protocols of all operations.
    pub(in crate::summarize) fn uses(&self) -> impl Iterator<Item = &ProtocolUse> {
        self.by_operation().flat_map(|found| &found.protocols)
    }

    /// Whether there is a protocol for every chunk of every operation.
    pub(super) fn covers_all_chunks(&self) -> bool {
        self.by_operation().all(|found| found.covers_all_chunks)
    }

    fn by_operation(&self) -> impl Iterator<Item = &ServingProtocols> {
        std::iter::once(&self.operation).chain(&self.read_backs)
    }
}

impl From<ServingProtocols> for OperationProtocols {
    fn from(operation: ServingProtocols) -> Self {
        Self {
            operation,
            read_backs: None,
        }
    }
}

/// Protocols that the library used for the operations of `cell`, which belongs to `scenario`.
pub(in crate::summarize) fn protocols_of(
    plan: &Plan,
    scenario: &PlannedScenario,
    cell: &Cell,
    endpoints: &EndpointIndex<'_>,
) -> OperationProtocols {
    let (Some(arm), Some(reported)) = (plan.arms.get(cell.arm), endpoints.protocols(cell.arm)) else {
        return OperationProtocols::default();
    };
    // The reported protocols do not name the kind of the remote memory, so they could belong to another scenario. With two
    // kinds of memory in a segment, different protocols serve the same operation.
    let mut scenarios = plan.scenarios.iter();
    let has_two_kinds = scenario.assignment.workload.second_memory().is_some();
    if has_two_kinds || scenarios.any(|other| other.assignment.has_different_kinds()) {
        return OperationProtocols::default();
    }
    let transport = plan.transport_of(arm);
    let workload = &scenario.assignment.workload;
    let chunks = [cell.chunk_bytes, cell.last_chunk_bytes];
    let serving_protocols =
        |operation| protocols::serving(reported, transport, operation, scenario.assignment.memory, chunks);
    OperationProtocols {
        operation: serving_protocols(Burst::from(workload).operation),
        read_backs: workload
            .reads_back()
            .then(|| serving_protocols(TransferOperation::Read)),
    }
}

/// Whether the provider executed the operations of `scenario` in software for `arm` on any worker, given the protocols
/// that the library used for them. `None` if the question does not apply to these operations.
pub(in crate::summarize) fn emulation_answer(
    scenario: &PlannedScenario,
    endpoints: &EndpointIndex<'_>,
    arm: usize,
    protocols: &OperationProtocols,
) -> Option<Answer> {
    let uses = ScenarioWork::new(scenario);
    let arm_facts = endpoints.all().filter(|(fact_arm, _, _)| *fact_arm == arm);
    let answers = arm_facts.flat_map(|(_, _, facts)| uses.answers(&facts.offload, protocols));
    answers.map(|(_, answer)| answer).reduce(Answer::or)
}

/// Work that a scenario causes and that a provider may execute in software.
#[derive(Clone, Copy)]
struct ScenarioWork {
    reads: bool,
    writes: bool,
    gpu_memory: bool,
}

impl ScenarioWork {
    fn new(scenario: &PlannedScenario) -> Self {
        let operation = Burst::from(&scenario.assignment.workload).operation;
        Self {
            reads: operation == TransferOperation::Read || scenario.assignment.workload.reads_back(),
            writes: matches!(
                operation,
                TransferOperation::Write | TransferOperation::WriteImmediate
            ),
            gpu_memory: scenario.assignment.uses(MemoryKind::Cuda),
        }
    }

    /// The kinds of work that the scenario depends on, each with its answer in `offload`, or in the protocols that the
    /// library used for the scenario's operations.
    fn answers(
        self,
        offload: &OffloadFacts,
        protocols: &OperationProtocols,
    ) -> impl Iterator<Item = (&'static str, Answer)> + use<> {
        let read_protocols = protocols.read_backs.as_ref().unwrap_or(&protocols.operation);
        let settled =
            |answer: Option<Answer>, found| answer.map(|answer| protocols::refine_emulation(answer, found));
        let reads = settled(offload.emulated_reads.filter(|_| self.reads), read_protocols);
        let writes = settled(
            offload.emulated_writes.filter(|_| self.writes),
            &protocols.operation,
        );
        let staged = offload.staged.filter(|_| self.gpu_memory).map(|reported| {
            let refined = protocols
                .by_operation()
                .map(|found| protocols::refine_staging(reported, found));
            refined.reduce(Answer::or).unwrap_or(reported)
        });
        [
            ("the provider emulates RMA reads", reads),
            ("the provider emulates RMA writes", writes),
            ("the provider copies GPU memory through host memory", staged),
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
            let uses = ScenarioWork {
                reads: rma,
                writes: rma,
                gpu_memory,
            };
            uses.answers(&offload, &OperationProtocols::default()).collect()
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
    #[test]
    fn write_protocols_do_not_show_whether_subsequent_reads_are_emulated() {
        let found = |covers_all_chunks, descriptions: &[&str]| ServingProtocols {
            protocols: descriptions
                .iter()
                .map(|&description| ProtocolUse {
                    function: "ucp".to_owned(),
                    from_bytes: 0,
                    to_bytes: None,
                    memory: None,
                    description: description.to_owned(),
                    lanes: "tcp/lo".to_owned(),
                    count: 1,
                    steps: None,
                })
                .collect(),
            covers_all_chunks,
        };
        let offload = OffloadFacts {
            emulated_reads: Some(Answer::Unknown),
            emulated_writes: Some(Answer::Unknown),
            ..OffloadFacts::default()
        };
        let uses = ScenarioWork {
            reads: true,
            writes: true,
            gpu_memory: false,
        };
        let answers = |read_backs| {
            let protocols = OperationProtocols {
                operation: found(true, &["zero-copy"]),
                read_backs: Some(read_backs),
            };
            let answers = uses.answers(&offload, &protocols).map(|(_, answer)| answer);
            (answers.collect::<Vec<_>>(), protocols.uses().count())
        };
        assert_eq!(
            answers(found(false, &[])),
            (vec![Answer::Unknown, Answer::False], 1)
        );
        assert_eq!(
            answers(found(true, &["zero-copy"])),
            (vec![Answer::False, Answer::False], 2)
        );
        let emulated = found(true, &["software emulation"]);
        assert_eq!(answers(emulated), (vec![Answer::True, Answer::False], 2));
    }
}
