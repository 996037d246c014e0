//! Plans the legs: what each gang measures and in which order, split so that no record stream or assignment is too
//! long.

use crds::assignment::{BlockAssignment, MAX_ASSIGNMENT_BYTES, Pass, RoundAssignment};
use crds::record::MAX_STREAM_BYTES;

use super::draw::Draw;
use super::estimate::{block_stream_bytes, leg_overhead_bytes, round_overhead_bytes};
use super::gangs::{self, Gang};
use super::model::{Leg, Plan, PlanError, PlannedScenario};

/// Maximum number of gangs of pods that one run creates in succession: 17 (one for each of 16 images, and one for the
/// image control arm) in each of 60 rounds and in the pilot.
const MAX_LEGS: usize = 1037;
/// Bytes reserved in an assignment for everything except its rounds: at most 16 variants with 32 environment variables
/// of 1 KiB each.
const ASSIGNMENT_HEAD_BYTES: usize = 600 * 1024;
/// Maximum length in bytes of a block in the assignment JSON, excluding the arms in its order.
const BLOCK_BYTES: usize = 100;
/// Maximum length in bytes of an arm in the order of a block, in the assignment JSON.
const ORDER_BYTES: usize = 4;

/// Plans the legs of `plan`, in the order in which they run. If there are several gangs, every gang has one leg in each
/// round, in random order. The pilot of all gangs precedes round 1, because all of them use the number of operations
/// that it determines. A single gang has one leg for each stage, because what a stage measures depends on the analysis
/// before it. Legs that would be too long are split further.
pub(super) fn plan(plan: &Plan) -> Result<Vec<Leg>, PlanError> {
    let gangs = gangs::plan(&plan.arms, plan.baseline);
    let draw = Draw::new(plan.seed);
    let mut legs = Vec::new();
    if let [gang] = gangs.as_slice() {
        let mut first = 0;
        for last in &plan.analyses {
            let rounds = (first..=*last).map(|round| draw_round(plan, gang, draw, round));
            split(plan, gang, rounds.collect(), &mut legs)?;
            first = last + 1;
        }
    } else {
        let pilot = plan.scenarios.iter().any(PlannedScenario::needs_pilot);
        for round in u32::from(!pilot)..=plan.rounds {
            for gang in draw.order(&format!("round {round} legs"), &gangs, |gang| gang.name.clone()) {
                let integrity_round = (round == 1 && !pilot).then_some(0);
                let rounds = integrity_round
                    .into_iter()
                    .chain([round])
                    .map(|round| draw_round(plan, gang, draw, round));
                split(plan, gang, rounds.collect(), &mut legs)?;
            }
        }
    }
    if legs.len() > MAX_LEGS {
        return Err(PlanError::TooManyLegs {
            legs: legs.len(),
            limit: MAX_LEGS,
        });
    }
    number_blocks(&mut legs);
    Ok(legs)
}

/// Draws all orders for one round of one gang: processes, arms, blocks, and the arms in each block (randomized complete
/// blocks). Round 0 consists of the integrity pass, which verifies every byte but records no timings, and the pilot.
fn draw_round(plan: &Plan, gang: &Gang, draw: Draw, round: u32) -> RoundAssignment {
    let arms = || (0_u32..).zip(&gang.arms);
    let arm_name = |arm: usize| {
        plan.arms
            .get(arm)
            .map_or_else(String::new, |arm| arm.name.clone())
    };
    let draw_arms = |subject: &str| {
        let drawn = draw.order(subject, arms(), |(_, (arm, _))| arm_name(*arm));
        drawn.into_iter().map(|(index, _)| index).collect::<Vec<_>>()
    };
    // A process has no name, so the name of its first arm identifies it in the draw.
    let processes = (0_u32..).zip(&gang.processes).map(|(process, _)| process);
    let process_order = draw.order(&format!("round {round} processes"), processes, |process| {
        let first = gang.arms.iter().find(|(_, arm_process)| arm_process == process);
        first.map_or_else(String::new, |(arm, _)| arm_name(*arm))
    });
    let draw_blocks = |pass: Pass, subject: &str, includes: fn(&PlannedScenario) -> bool| {
        let scenarios = (0_u32..).zip(&plan.scenarios);
        let cells = scenarios
            .filter(|(_, scenario)| includes(scenario))
            .flat_map(|(index, scenario)| scenario.sizes.iter().map(move |size| (index, scenario, *size)));
        let cells = draw.order(&format!("{subject} blocks"), cells, |(_, scenario, size)| {
            format!("{} {size}", scenario.assignment.name)
        });
        let blocks = cells
            .into_iter()
            .map(|(scenario, planned, size_bytes)| BlockAssignment {
                block: 0,
                pass,
                scenario,
                size_bytes,
                order: draw_arms(&format!("{subject} {} {size_bytes}", planned.assignment.name)),
            });
        blocks.collect::<Vec<_>>()
    };
    let subject = format!("round {round}");
    let blocks = if round == 0 {
        let mut blocks = draw_blocks(Pass::Integrity, &subject, |scenario| scenario.integrity);
        blocks.extend(draw_blocks(Pass::Pilot, "pilot", PlannedScenario::needs_pilot));
        blocks
    } else {
        draw_blocks(Pass::Measure, &subject, |_| true)
    };
    RoundAssignment {
        round,
        process_order,
        arm_order: draw_arms(&format!("{subject} arms")),
        blocks,
    }
}

/// Appends the rounds to `legs` as one leg, or as several if the record stream or the assignment of a single leg would
/// be too long. A round may be split between two blocks, but never within a block.
fn split(
    plan: &Plan,
    gang: &Gang,
    rounds: Vec<RoundAssignment>,
    legs: &mut Vec<Leg>,
) -> Result<(), PlanError> {
    let empty = |legs: &Vec<Leg>| Leg {
        leg: u32::try_from(legs.len()).unwrap_or(u32::MAX),
        image: gang.image.clone(),
        claims: gang.claims.clone(),
        processes: gang.processes.clone(),
        arms: gang.arms.clone(),
        rounds: Vec::new(),
    };
    let arms = gang.arms.len() as u64;
    let base = leg_overhead_bytes(plan, arms);
    let mut leg = empty(legs);
    let (mut stream_bytes, mut assignment_bytes) = (base, ASSIGNMENT_HEAD_BYTES);
    for round in rounds {
        let RoundAssignment { blocks, .. } = &round;
        let head = RoundAssignment {
            blocks: Vec::new(),
            ..round.clone()
        };
        let mut part = head.clone();
        stream_bytes += round_overhead_bytes(plan, arms);
        for block in blocks {
            let bytes = block_stream_bytes(plan, block);
            let json_bytes = BLOCK_BYTES + ORDER_BYTES * block.order.len();
            let minimum_stream = base + round_overhead_bytes(plan, arms) + bytes;
            if minimum_stream > MAX_STREAM_BYTES {
                return Err(block_too_large(plan, block, bytes));
            }
            if stream_bytes + bytes > MAX_STREAM_BYTES || assignment_bytes + json_bytes > MAX_ASSIGNMENT_BYTES
            {
                push_round(&mut leg, std::mem::replace(&mut part, head.clone()));
                if !leg.rounds.is_empty() {
                    legs.push(std::mem::replace(&mut leg, empty(legs)));
                    leg.leg = u32::try_from(legs.len()).unwrap_or(u32::MAX);
                }
                stream_bytes = base + round_overhead_bytes(plan, arms);
                assignment_bytes = ASSIGNMENT_HEAD_BYTES;
            }
            stream_bytes += bytes;
            assignment_bytes += json_bytes;
            part.blocks.push(block.clone());
        }
        push_round(&mut leg, part);
    }
    if !leg.rounds.is_empty() {
        legs.push(leg);
    }
    Ok(())
}

fn push_round(leg: &mut Leg, round: RoundAssignment) {
    if !round.blocks.is_empty() {
        leg.rounds.push(round);
    }
}

fn block_too_large(plan: &Plan, block: &BlockAssignment, bytes: u64) -> PlanError {
    let scenario = plan.scenarios.get(block.scenario as usize);
    let arms = block.order.len() as u64;
    PlanError::BlockTooLarge {
        scenario: scenario.map_or_else(String::new, |scenario| scenario.assignment.name.clone()),
        arms,
        pairs: plan.pairs(),
        cases: arms * plan.pairs(),
        bytes,
        limit: MAX_STREAM_BYTES,
    }
}

/// Numbers all blocks in the order in which they run, from 0.
fn number_blocks(legs: &mut [Leg]) {
    let rounds = legs.iter_mut().flat_map(|leg| &mut leg.rounds);
    let blocks = rounds.flat_map(|round| &mut round.blocks);
    for (number, block) in (0_u32..).zip(blocks) {
        block.block = number;
    }
}
