//! Warnings about work that the provider executes, or may execute, in software although the device could do it.

use crds::record::OffloadFacts;
use crds::v1alpha1::{Answer, MemoryKind, TransferOperation};

use super::endpoints::EndpointIndex;
use crate::plan::{Plan, PlannedScenario};
use crate::posting::Burst;

/// Returns one warning for each arm and kind of work that is or may be executed in software. An answer that the library
/// does not provide is reported as unknown.
pub(super) fn warnings(plan: &Plan, endpoints: &EndpointIndex<'_>) -> Vec<String> {
    let uses = Uses::new(&plan.scenarios);
    let mut warnings = Vec::new();
    for (arm, _, facts) in endpoints.all() {
        let name = plan.arms.get(arm).map_or("", |arm| arm.name.as_str());
        for (what, answer) in uses.answers(&facts.offload) {
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

/// Whether the provider executed the operations of `scenario` in software for `arm` on any worker. `None` if the
/// question does not apply to these operations.
pub(super) fn emulated(
    scenario: &PlannedScenario,
    endpoints: &EndpointIndex<'_>,
    arm: usize,
) -> Option<Answer> {
    let uses = Uses::new(std::slice::from_ref(scenario));
    let of_arm = endpoints.all().filter(|(of, _, _)| *of == arm);
    let answers = of_arm.flat_map(|(_, _, facts)| uses.answers(&facts.offload));
    answers.map(|(_, answer)| answer).reduce(Answer::or)
}

/// Work that scenarios cause and that a provider may execute in software.
struct Uses {
    reads: bool,
    writes: bool,
    gpu_memory: bool,
}

impl Uses {
    fn new(scenarios: &[PlannedScenario]) -> Self {
        let uses = |operations: &[TransferOperation]| {
            let bursts = scenarios
                .iter()
                .map(|scenario| Burst::from(&scenario.assignment.workload));
            bursts
                .map(|burst| burst.operation)
                .any(|operation| operations.contains(&operation))
        };
        let mut memory = scenarios.iter().map(|scenario| scenario.assignment.memory);
        Self {
            reads: uses(&[TransferOperation::Read]),
            writes: uses(&[TransferOperation::Write, TransferOperation::WriteImmediate]),
            gpu_memory: memory.any(|memory| memory == MemoryKind::Cuda),
        }
    }

    /// The kinds of work that the run depends on, each with its answer in `offload`.
    fn answers(&self, offload: &OffloadFacts) -> impl Iterator<Item = (&'static str, Answer)> {
        let reads = offload.emulated_reads.filter(|_| self.reads);
        let writes = offload.emulated_writes.filter(|_| self.writes);
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
            uses.answers(&offload).collect()
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
