//! Builds the assignment that the workers of one leg receive.

use std::collections::BTreeSet;

use crds::assignment::{
    ASSIGNMENT_VERSION, ArmAssignment, Assignment, AttemptIdentity, OperationCount, RankBinding, Rendezvous,
    RoundAssignment,
};

use super::model::{Leg, Plan};

/// Values of an assignment that the plan does not contain.
#[derive(Clone, Debug)]
pub struct AssignmentInputs<'a> {
    /// Identity of the attempt: run, plan, leg and attempt number.
    pub identity: AttemptIdentity,
    /// Rendezvous address of the workers.
    pub rendezvous: Rendezvous,
    /// Rails and CPUs of each rank; empty if each worker chooses its own.
    pub bindings: Vec<RankBinding>,
    /// Numbers of the blocks that earlier attempts finished.
    pub finished_blocks: &'a BTreeSet<u32>,
    /// Operation counts from the spec, or from the records of earlier legs and attempts.
    pub operation_counts: Vec<OperationCount>,
}

/// Builds the assignment of `leg`, which must belong to `plan`. It omits finished blocks, and rounds whose blocks are
/// all finished. If the assignment has no rounds, the leg is finished and needs no workers.
pub fn assignment(plan: &Plan, leg: &Leg, inputs: AssignmentInputs<'_>) -> Assignment {
    let AssignmentInputs {
        identity,
        rendezvous,
        bindings,
        finished_blocks,
        operation_counts,
    } = inputs;
    let arms = leg.arms.iter().filter_map(|(index, process)| {
        let arm = plan.arms.get(*index)?;
        Some(ArmAssignment {
            name: arm.name.clone(),
            process: *process,
            inject_max_bytes: arm.inject_max_bytes,
            doorbell_max_batch: arm.doorbell_max_batch,
            striping: arm.striping,
            channel: arm.channel,
            arguments: arm.arguments.clone(),
        })
    });
    Assignment {
        version: ASSIGNMENT_VERSION,
        identity,
        workers: plan.workers,
        many_to_many: plan.many_to_many,
        rendezvous,
        transport: plan.transport.clone(),
        devices: plan.devices.clone(),
        align: plan.align,
        bindings,
        processes: leg.processes.clone(),
        scenarios: plan
            .scenarios
            .iter()
            .map(|scenario| scenario.assignment.clone())
            .collect(),
        arms: arms.collect(),
        operation_counts,
        rounds: leg
            .rounds
            .iter()
            .filter_map(|round| without_finished_blocks(round, finished_blocks))
            .collect(),
        case_deadline_seconds: plan.case_deadline_seconds,
        assessed_variables: plan.assessed_variables(),
    }
}

/// Returns `round` without its finished blocks, or `None` if all its blocks are finished.
fn without_finished_blocks(
    round: &RoundAssignment,
    finished_blocks: &BTreeSet<u32>,
) -> Option<RoundAssignment> {
    let blocks: Vec<_> = round
        .blocks
        .iter()
        .filter(|block| !finished_blocks.contains(&block.block))
        .cloned()
        .collect();
    (!blocks.is_empty()).then(|| RoundAssignment {
        blocks,
        ..round.clone()
    })
}
