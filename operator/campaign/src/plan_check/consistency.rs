//! Checks that a plan is consistent. Performs no I/O.

use std::collections::{BTreeMap, BTreeSet};

use crds::assignment::{BlockAssignment, Pass, RoundAssignment};
use crds::record::MAX_STREAM_BYTES;

use super::note::{Notes, Severity};
use crate::plan::{Leg, Plan, leg_estimate};

pub(super) fn check(plan: &Plan, notes: &mut Notes) {
    let mut fatal = |message: String| notes.add(Severity::Fatal, message);
    let names: BTreeSet<_> = plan.arms.iter().map(|arm| &arm.name).collect();
    if names.len() != plan.arms.len() {
        fatal("two arms have the same name".to_owned());
    }
    if plan
        .arms
        .get(plan.baseline)
        .is_none_or(|arm| arm.control.is_some())
    {
        fatal("the baseline is not a variant of the plan".to_owned());
    }
    for scenario in &plan.scenarios {
        if scenario.cells.len() != scenario.sizes.len() * plan.arms.len() {
            fatal(format!(
                "scenario {} does not have one cell per size and arm",
                scenario.assignment.name
            ));
        }
    }
    let blocks = || {
        plan.legs
            .iter()
            .flat_map(|leg| &leg.rounds)
            .flat_map(|round| &round.blocks)
    };
    let numbers: BTreeSet<_> = blocks().map(|block| block.block).collect();
    if numbers.len() != blocks().count() || numbers.len() != plan.blocks_total as usize {
        fatal("block numbers are not unique, or blocksTotal is not the number of blocks".to_owned());
    }
    for leg in &plan.legs {
        check_leg(plan, leg, &mut fatal);
    }
    check_coverage(plan, &mut fatal);
}

fn check_leg(plan: &Plan, leg: &Leg, fatal: &mut impl FnMut(String)) {
    let number = leg.leg;
    if leg_estimate(plan, leg).stream_bytes > MAX_STREAM_BYTES {
        fatal(format!("leg {number}: the record stream is too long"));
    }
    let images = leg
        .arms
        .iter()
        .filter_map(|(arm, _)| plan.arms.get(*arm))
        .map(|arm| &arm.image);
    if images.clone().any(|image| *image != leg.image) || images.count() != leg.arms.len() {
        fatal(format!(
            "leg {number}: an arm is not in the plan, or its image differs from the image of the leg"
        ));
    }
    for (arm, process) in &leg.arms {
        let expected = plan.arms.get(*arm).map(|arm| &arm.process);
        if expected != leg.processes.get(*process as usize) {
            fatal(format!(
                "leg {number}: arm {arm} is in a process with a different environment or library"
            ));
        }
    }
    for round in &leg.rounds {
        let complete = is_permutation(&round.arm_order, leg.arms.len())
            && is_permutation(&round.process_order, leg.processes.len())
            && round
                .blocks
                .iter()
                .all(|block| is_permutation(&block.order, leg.arms.len()));
        if !complete {
            fatal(format!(
                "leg {number}, round {}: an order does not contain every index exactly once",
                round.round
            ));
        }
        let passes = round.blocks.iter().map(|block| block.pass == Pass::Measure);
        if passes.clone().any(|measures| measures == (round.round == 0)) || round.blocks.is_empty() {
            fatal(format!(
                "leg {number}, round {}: a block has the wrong pass, or the round has no blocks",
                round.round
            ));
        }
    }
}

/// Checks that every arm is measured exactly once in every round, in every scenario at every size. In round 0, each arm
/// must instead be verified once if the scenario enables the integrity pass, and run once in the pilot if the scenario
/// needs one.
fn check_coverage(plan: &Plan, fatal: &mut impl FnMut(String)) {
    let mut seen: BTreeMap<Key, u32> = BTreeMap::new();
    for leg in &plan.legs {
        for round in &leg.rounds {
            for block in &round.blocks {
                for arm in block_arms(leg, block) {
                    *seen.entry(key(round, block, arm)).or_default() += 1;
                }
            }
        }
    }
    let mut expected = BTreeSet::new();
    for round in 0..=plan.rounds {
        for (index, scenario) in (0_u32..).zip(&plan.scenarios) {
            let passes = [
                (Pass::Integrity, round == 0 && scenario.integrity),
                (Pass::Pilot, round == 0 && scenario.needs_pilot()),
                (Pass::Measure, round > 0),
            ];
            for (pass, _) in passes.into_iter().filter(|(_, planned)| *planned) {
                for size in &scenario.sizes {
                    expected.extend((0..plan.arms.len()).map(|arm| (round, pass, index, *size, arm)));
                }
            }
        }
    }
    let exactly_once = seen.values().all(|count| *count == 1);
    if !exactly_once || !seen.keys().eq(expected.iter()) {
        fatal("not every arm runs exactly once at every size in every round".to_owned());
    }
}

fn block_arms(leg: &Leg, block: &BlockAssignment) -> impl Iterator<Item = usize> {
    block
        .order
        .iter()
        .filter_map(|index| leg.arms.get(*index as usize))
        .map(|(arm, _)| *arm)
}

/// Round, pass, scenario, size and arm of a case.
type Key = (u32, Pass, u32, u64, usize);

fn key(round: &RoundAssignment, block: &BlockAssignment, arm: usize) -> Key {
    (round.round, block.pass, block.scenario, block.size_bytes, arm)
}

/// Whether `order` contains every index below `count` exactly once.
fn is_permutation(order: &[u32], count: usize) -> bool {
    let indexes: BTreeSet<_> = order.iter().map(|index| *index as usize).collect();
    order.len() == count && indexes.into_iter().eq(0..count)
}
