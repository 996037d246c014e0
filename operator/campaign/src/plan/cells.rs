//! Plans the cells: the posts of each arm at each size of a scenario.

use crds::v1alpha1::TransportSpec;

use super::model::{Arm, Cell, LIBRARY_NOT_USED};
use super::role::Role;
use crate::posting::{PlannedOptimization, Posting, Tuning, optimizations};
use crate::validate::ValidatedScenario;

/// Plans the cells of `scenario`, by size, then by arm. `transport` is the transport of the arms that do not set one.
pub(super) fn plan(
    scenario: &ValidatedScenario,
    transport: &TransportSpec,
    arms: &[Arm],
    baseline: usize,
) -> Vec<Cell> {
    let workload = &scenario.assignment.workload;
    let uses_channels = workload.uses_channels();
    let is_command = workload.tool().is_some();
    let (burst, rails) = (scenario.burst(), transport.rails());
    let posting_of = move |arm: &Arm, size| {
        let tuning = arm.tuning().supported_by(arm.transport_or(transport));
        Posting::new(tuning, burst, size, rails)
    };
    let sizes = scenario.sizes.iter();
    let cells = sizes.flat_map(|size| {
        arms.iter().enumerate().map(move |(index, arm)| {
            let posting = posting_of(arm, *size);
            let reference = arms.get(baseline).filter(|_| index != baseline);
            let role = reference.map(|reference| {
                let baseline_posting = posting_of(reference, *size);
                if is_command {
                    // An arm's tuning has no effect on a command.
                    let differs = arm.arguments != reference.arguments;
                    return Role::new((arm, baseline_posting), (reference, baseline_posting), differs);
                }
                let channels_differ =
                    uses_channels && arm.channel.for_payload(*size) != reference.channel.for_payload(*size);
                let use_library = |arm: &Arm| workload.uses_library(arm.channel);
                if !channels_differ && !use_library(arm) && !use_library(reference) {
                    return Role::without_library(arm, reference);
                }
                Role::new((arm, posting), (reference, baseline_posting), channels_differ)
            });
            Cell {
                size_bytes: *size,
                arm: index,
                rails: posting.stripes.rails,
                chunk_bytes: posting.stripes.chunk_bytes,
                last_chunk_bytes: posting.stripes.last_chunk_bytes,
                posts_per_burst: posting.posts_per_burst,
                more_per_burst: posting.more_per_burst(),
                optimizations: if is_command {
                    Vec::new()
                } else {
                    let planned = optimizations(arm.tuning(), burst, *size, arm.transport_or(transport));
                    if workload.uses_library(arm.channel) {
                        planned
                    } else {
                        planned.into_iter().map(without_library).collect()
                    }
                },
                role,
            }
        })
    });
    cells.collect()
}

/// An optimization in a scenario whose timed operations do not use the library that would perform it.
fn without_library(planned: PlannedOptimization) -> PlannedOptimization {
    PlannedOptimization {
        not_applicable: Some(LIBRARY_NOT_USED.to_owned()),
        ..planned
    }
}

impl Arm {
    /// Settings that determine how the arm posts messages.
    pub fn tuning(&self) -> Tuning {
        Tuning {
            inject_max_bytes: self.inject_max_bytes,
            doorbell_max_batch: self.doorbell_max_batch,
            striping: self.striping,
        }
    }
}
