//! Whether a plan contradicts itself.

use std::collections::{BTreeMap, BTreeSet};

use crds::assignment::{BlockAssignment, Pass, RoundAssignment};
use crds::record::MAX_STREAM_BYTES;

use super::{Notes, Severity};
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
        fatal("the baseline is no variant".to_owned());
    }
    for scenario in &plan.scenarios {
        if scenario.cells.len() != scenario.sizes.len() * plan.arms.len() {
            fatal(format!("scenario {} has cells missing", scenario.assignment.name));
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
        fatal("block numbers are not unique, or blocksTotal is wrong".to_owned());
    }
    for leg in &plan.legs {
        check_leg(plan, leg, &mut fatal);
    }
    check_coverage(plan, &mut fatal);
}

fn check_leg(plan: &Plan, leg: &Leg, fatal: &mut impl FnMut(String)) {
    let number = leg.leg;
    if leg_estimate(plan, leg).stream_bytes > MAX_STREAM_BYTES {
        fatal(format!("leg {number}: its stream is too long"));
    }
    let images = leg
        .arms
        .iter()
        .filter_map(|(arm, _)| plan.arms.get(*arm))
        .map(|arm| &arm.image);
    if images.clone().any(|image| *image != leg.image) || images.count() != leg.arms.len() {
        fatal(format!(
            "leg {number}: an arm is not in the plan, or has another image"
        ));
    }
    for (arm, process) in &leg.arms {
        let of_arm = plan.arms.get(*arm).map(|arm| &arm.process);
        if of_arm != leg.processes.get(*process as usize) {
            fatal(format!(
                "leg {number}: arm {arm} is in a process of another environment"
            ));
        }
    }
    for round in &leg.rounds {
        let whole = is_order(&round.arm_order, leg.arms.len())
            && is_order(&round.process_order, leg.processes.len())
            && round
                .blocks
                .iter()
                .all(|block| is_order(&block.order, leg.arms.len()));
        if !whole {
            fatal(format!(
                "leg {number}, round {}: an order does not name everything once",
                round.round
            ));
        }
        if (round.round == 0) != (round.pass == Pass::Integrity) || round.blocks.is_empty() {
            fatal(format!(
                "leg {number}, round {}: it has the wrong pass or no blocks",
                round.round
            ));
        }
    }
}

/// Every scenario and size must be measured by every arm once in every round, and checked once where integrity is
/// wanted.
fn check_coverage(plan: &Plan, fatal: &mut impl FnMut(String)) {
    let mut seen: BTreeMap<(u32, u32, u64, usize), u32> = BTreeMap::new();
    for leg in &plan.legs {
        for round in &leg.rounds {
            for block in &round.blocks {
                for arm in arms_of(leg, block) {
                    *seen.entry(key(round, block, arm)).or_default() += 1;
                }
            }
        }
    }
    let mut expected = BTreeSet::new();
    for round in 0..=plan.rounds {
        for (index, scenario) in (0_u32..).zip(&plan.scenarios) {
            if round > 0 || scenario.integrity {
                for (size, arm) in scenario
                    .sizes
                    .iter()
                    .flat_map(|size| (0..plan.arms.len()).map(move |arm| (size, arm)))
                {
                    expected.insert((round, index, *size, arm));
                }
            }
        }
    }
    let once = seen.values().all(|count| *count == 1);
    if !once || !seen.keys().eq(expected.iter()) {
        fatal("not every arm runs once at every size in every round".to_owned());
    }
}

fn arms_of(leg: &Leg, block: &BlockAssignment) -> impl Iterator<Item = usize> {
    block
        .order
        .iter()
        .filter_map(|place| leg.arms.get(*place as usize))
        .map(|(arm, _)| *arm)
}

fn key(round: &RoundAssignment, block: &BlockAssignment, arm: usize) -> (u32, u32, u64, usize) {
    (round.round, block.scenario, block.size_bytes, arm)
}

fn is_order(order: &[u32], count: usize) -> bool {
    let all: BTreeSet<_> = order.iter().map(|place| *place as usize).collect();
    order.len() == count && all.into_iter().eq(0..count)
}
