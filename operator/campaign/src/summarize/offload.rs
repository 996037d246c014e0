//! Warnings about work that the provider executes, or may execute, in software although a device could do it.

use crds::assignment::Workload;
use crds::record::{Answer, OffloadFacts};
use crds::v1alpha1::TransferOperation;

use super::endpoints::EndpointIndex;
use crate::plan::Plan;
use crate::posting::Burst;

/// Returns one warning for each arm and kind of work that is or may be executed in software. An answer that the library
/// does not give is reported as unknown.
pub(super) fn warnings(plan: &Plan, endpoints: &EndpointIndex<'_>) -> Vec<String> {
    let uses = Uses::new(plan);
    let mut warnings = Vec::new();
    for (arm, _, facts) in endpoints.all() {
        let name = plan.arms.get(arm).map_or("", |arm| arm.name.as_str());
        for (what, answer) in uses.answers(&facts.offload) {
            let warning = match answer {
                Answer::No => continue,
                Answer::Yes => {
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

/// RMA operations that the scenarios of a run use.
struct Uses {
    reads: bool,
    writes: bool,
}

impl Uses {
    fn new(plan: &Plan) -> Self {
        let uses = |operations: &[TransferOperation]| {
            let workloads = plan
                .scenarios
                .iter()
                .map(|scenario| &scenario.assignment.workload);
            workloads
                .map(|workload: &Workload| Burst::from(workload).operation)
                .any(|operation| operations.contains(&operation))
        };
        Self {
            reads: uses(&[TransferOperation::Read]),
            writes: uses(&[TransferOperation::Write, TransferOperation::WriteImmediate]),
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
                offload.staged,
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
            emulated_reads: Some(Answer::Yes),
            emulated_writes: Some(Answer::Unknown),
            staged: Some(Answer::No),
            inline_bytes: None,
        };
        let answers =
            |reads, writes| -> Vec<(&str, Answer)> { Uses { reads, writes }.answers(&offload).collect() };
        let staged = ("the provider copies GPU memory through host memory", Answer::No);
        assert_eq!(answers(false, false), [staged]);
        assert_eq!(
            answers(true, true),
            [
                ("the provider emulates RMA reads", Answer::Yes),
                ("the provider emulates RMA writes", Answer::Unknown),
                staged
            ]
        );
    }
}
