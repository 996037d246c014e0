//! The assignment of one leg: what its workers are told.

use std::collections::BTreeSet;

use crds::assignment::{
    ASSIGNMENT_VERSION, ArmAssignment, Assignment, LegIdentity, RankBinding, Rendezvous, RoundAssignment,
};

use super::{Leg, Plan};

/// What an executor adds to the plan.
#[derive(Clone, Debug)]
pub struct AssignmentInputs<'a> {
    /// Which run, plan, leg and attempt.
    pub identity: LegIdentity,
    /// Where the workers meet.
    pub rendezvous: Rendezvous,
    /// Rails and processors of each rank; empty where each worker chooses.
    pub bindings: Vec<RankBinding>,
    /// Blocks that earlier attempts finished: they are left out.
    pub done: &'a BTreeSet<u32>,
}

/// The assignment of `leg`, which must be of `plan`. Finished blocks are left out, and rounds with none left; without
/// any round the leg is finished and needs no workers.
pub fn assignment(plan: &Plan, leg: &Leg, inputs: AssignmentInputs<'_>) -> Assignment {
    let AssignmentInputs {
        identity,
        rendezvous,
        bindings,
        done,
    } = inputs;
    let arms = leg.arms.iter().filter_map(|(index, process)| {
        let arm = plan.arms.get(*index)?;
        Some(ArmAssignment {
            name: arm.name.clone(),
            process: *process,
            inject_max_bytes: arm.inject_max_bytes,
            doorbell_max_batch: arm.doorbell_max_batch,
            striping: arm.striping,
        })
    });
    Assignment {
        version: ASSIGNMENT_VERSION,
        identity,
        workers: plan.workers,
        rendezvous,
        transport: plan.transport.clone(),
        bindings,
        processes: leg.processes.clone(),
        scenarios: plan
            .scenarios
            .iter()
            .map(|scenario| scenario.assignment.clone())
            .collect(),
        arms: arms.collect(),
        rounds: leg
            .rounds
            .iter()
            .filter_map(|round| missing(round, done))
            .collect(),
        case_deadline_seconds: plan.case_deadline_seconds,
    }
}

/// What is missing of `round`.
fn missing(round: &RoundAssignment, done: &BTreeSet<u32>) -> Option<RoundAssignment> {
    let blocks: Vec<_> = round
        .blocks
        .iter()
        .filter(|block| !done.contains(&block.block))
        .cloned()
        .collect();
    (!blocks.is_empty()).then(|| RoundAssignment {
        blocks,
        ..round.clone()
    })
}
