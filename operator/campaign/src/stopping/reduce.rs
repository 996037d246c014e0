//! Reduces a leg to the blocks and arms that are needed.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crds::assignment::{BlockAssignment, RoundAssignment};

use super::Stopping;
use crate::plan::{Leg, Plan};

impl Stopping {
    /// Returns `leg` without the blocks, arms and instrument processes that the analyses before its stage have made
    /// unnecessary. The remaining blocks and arms keep their order. The leg has no rounds if nothing in it is needed.
    pub fn reduce<'a>(&self, plan: &Plan, leg: &'a Leg) -> Cow<'a, Leg> {
        let stage = plan.stage_of_leg(leg);
        if stage == 0 {
            return Cow::Borrowed(leg);
        }
        let needed = self.needed_cells(plan, stage);
        let is_needed = |block: &BlockAssignment, position: u32| {
            leg.arms
                .get(position as usize)
                .is_some_and(|(arm, _)| needed.contains(&(block.scenario as usize, block.size_bytes, *arm)))
        };
        let mut rounds: Vec<RoundAssignment> = leg.rounds.clone();
        for round in &mut rounds {
            for block in &mut round.blocks {
                let order = std::mem::take(&mut block.order);
                block.order = order
                    .into_iter()
                    .filter(|position| is_needed(block, *position))
                    .collect();
            }
            round.blocks.retain(|block| !block.order.is_empty());
        }
        rounds.retain(|round| !round.blocks.is_empty());
        let blocks = rounds.iter().flat_map(|round| &round.blocks);
        let arms: BTreeSet<u32> = blocks.flat_map(|block| block.order.iter().copied()).collect();
        Cow::Owned(with_arms(leg, rounds, &arms))
    }
}

/// Returns `leg` with `rounds`, which use only the arms at the positions in `arms`. The positions of arms and processes
/// are renumbered from 0, as the workers require.
fn with_arms(leg: &Leg, mut rounds: Vec<RoundAssignment>, arms: &BTreeSet<u32>) -> Leg {
    let kept = |position: &u32| leg.arms.get(*position as usize);
    let processes: BTreeSet<u32> = arms
        .iter()
        .filter_map(kept)
        .map(|(_, process)| *process)
        .collect();
    let renumber = |order: &mut Vec<u32>, positions: &BTreeSet<u32>| {
        let found = order.iter().filter_map(|old| new_position(positions, *old));
        *order = found.collect();
    };
    for round in &mut rounds {
        renumber(&mut round.arm_order, arms);
        renumber(&mut round.process_order, &processes);
        for block in &mut round.blocks {
            renumber(&mut block.order, arms);
        }
    }
    let definition = |process: &u32| leg.processes.get(*process as usize).cloned();
    let kept_arms = arms.iter().filter_map(kept);
    Leg {
        processes: processes.iter().filter_map(definition).collect(),
        arms: kept_arms
            .filter_map(|(arm, process)| Some((*arm, new_position(&processes, *process)?)))
            .collect(),
        rounds,
        ..leg.clone()
    }
}

/// Position of `old` among the `kept` positions.
fn new_position(kept: &BTreeSet<u32>, old: u32) -> Option<u32> {
    let position = kept.iter().position(|kept| *kept == old)?;
    u32::try_from(position).ok()
}
