//! Blocks and cases that a plan expects in its streams.

use std::collections::{BTreeMap, BTreeSet};

use crds::assignment::Pass;
use crds::record::CaseRecord;
use crds::v1alpha1::ManyToMany;

use super::case::Case;
use super::fault::BlockFault;
use crate::plan::Plan;

/// A plan's blocks, by leg and number.
#[derive(Debug, Clone)]
pub(super) struct ExpectedBlocks {
    blocks: BTreeMap<(u32, u32), Block>,
    legs: BTreeSet<u32>,
    scenarios: Vec<String>,
    arms: Vec<String>,
    workers: u32,
    many_to_many: Option<ManyToMany>,
}

#[derive(Debug, Clone)]
struct Block {
    round: u32,
    pass: Pass,
    scenario: usize,
    size_bytes: u64,
    /// Indexes of the arms in the plan.
    arms: BTreeSet<usize>,
    /// Whether the block belongs to a stage after the first. Such a stage measures only the arms that are still needed.
    is_partial: bool,
}

impl ExpectedBlocks {
    pub(super) fn new(plan: &Plan) -> Self {
        let mut blocks = BTreeMap::new();
        for leg in &plan.legs {
            for round in &leg.rounds {
                for block in &round.blocks {
                    let arms = block
                        .order
                        .iter()
                        .filter_map(|position| leg.arms.get(*position as usize));
                    let block_shape = Block {
                        round: round.round,
                        pass: block.pass,
                        scenario: block.scenario as usize,
                        size_bytes: block.size_bytes,
                        arms: arms.map(|(arm, _)| *arm).collect(),
                        is_partial: plan.stage(round.round) > 0,
                    };
                    blocks.insert((leg.leg, block.block), block_shape);
                }
            }
        }
        let names = plan
            .scenarios
            .iter()
            .map(|scenario| scenario.assignment.name.clone());
        Self {
            blocks,
            legs: plan.legs.iter().map(|leg| leg.leg).collect(),
            scenarios: names.collect(),
            arms: plan.arms.iter().map(|arm| arm.name.clone()).collect(),
            workers: plan.workers,
            many_to_many: plan.many_to_many,
        }
    }

    pub(super) fn has_leg(&self, leg: u32) -> bool {
        self.legs.contains(&leg)
    }

    /// Converts `record` to a case if the plan contains that case.
    pub(super) fn case(&self, (leg, attempt): (u32, u32), record: CaseRecord) -> Result<Case, BlockFault> {
        let block = self.blocks.get(&(leg, record.block)).ok_or(BlockFault::Unknown)?;
        let contradiction = |reason: String| BlockFault::Contradiction { reason };
        let scenario = self.scenarios.get(block.scenario);
        if (record.round, record.pass, record.size_bytes) != (block.round, block.pass, block.size_bytes)
            || scenario != Some(&record.scenario)
        {
            return Err(contradiction(format!(
                "it has round {}, scenario \"{}\", {} bytes; the plan has round {}, scenario \"{}\", {} bytes",
                record.round,
                clip(&record.scenario),
                record.size_bytes,
                block.round,
                scenario.map_or("", String::as_str),
                block.size_bytes
            )));
        }
        let arm = self.arms.iter().position(|name| *name == record.arm);
        let Some(arm) = arm.filter(|arm| block.arms.contains(arm)) else {
            return Err(contradiction(format!(
                "the plan has no arm \"{}\" in this block",
                clip(&record.arm)
            )));
        };
        let pair = (record.initiator, record.target);
        if pair.0 == pair.1 || pair.0.max(pair.1) >= self.workers {
            return Err(contradiction(format!(
                "ranks {} and {} are not a valid pair in a run with {} workers",
                pair.0, pair.1, self.workers
            )));
        }
        if self
            .many_to_many
            .is_some_and(|pattern| !pattern.has_flow(pair.0, pair.1))
        {
            return Err(contradiction(format!(
                "the plan has no flow from rank {} to rank {}",
                pair.0, pair.1
            )));
        }
        Ok(Case {
            leg,
            attempt,
            block: record.block,
            round: record.round,
            pass: record.pass,
            scenario: block.scenario,
            size_bytes: record.size_bytes,
            arm,
            initiator: record.initiator,
            target: record.target,
            restart: record.restart,
            started_nanos: record.started_nanos,
            span_nanos: record.span_nanos,
            outcome: record.result,
        })
    }

    /// Whether a block belongs to a stage in which only some arms may be measured.
    pub(super) fn is_partial(&self, leg: u32, block: u32) -> bool {
        self.blocks
            .get(&(leg, block))
            .is_some_and(|block| block.is_partial)
    }

    /// Checks that `cases` contains all cases of block `block` of `leg`. In a stage after the first, a block may omit
    /// arms, because comparisons that have ended are no longer measured.
    pub(super) fn check(&self, leg: u32, block: u32, claimed: u32, cases: &[Case]) -> Result<(), BlockFault> {
        let shape = self.blocks.get(&(leg, block)).ok_or(BlockFault::Unknown)?;
        if claimed as usize != cases.len() {
            return Err(BlockFault::Count {
                claimed,
                found: cases.len(),
            });
        }
        let mut seen = BTreeSet::new();
        for case in cases {
            if !seen.insert((case.arm, case.initiator, case.target)) {
                let reason = format!(
                    "arm \"{}\" has two cases for ranks {} and {}",
                    self.arms.get(case.arm).map_or("", String::as_str),
                    case.initiator,
                    case.target
                );
                return Err(BlockFault::Contradiction { reason });
            }
        }
        // In the many-to-many pattern, one value combines all flows.
        if let Some(pattern) = self.many_to_many {
            let incomplete = shape.arms.iter().find_map(|arm| {
                let flows = cases.iter().filter(|case| case.arm == *arm).count() as u64;
                (flows > 0 && flows != pattern.flow_count()).then_some((*arm, flows))
            });
            if let Some((arm, flows)) = incomplete {
                let reason = format!(
                    "arm \"{}\" has {flows} of {} flows",
                    self.arms.get(arm).map_or("", String::as_str),
                    pattern.flow_count()
                );
                return Err(BlockFault::Contradiction { reason });
            }
        }
        let required = shape.arms.iter().filter(|_| !shape.is_partial);
        let missing = required
            .into_iter()
            .find(|arm| !cases.iter().any(|case| case.arm == **arm));
        match missing {
            Some(arm) => Err(BlockFault::ArmMissing {
                arm: self.arms.get(*arm).cloned().unwrap_or_default(),
            }),
            None => Ok(()),
        }
    }
}

/// Returns the first characters of an untrusted string, to keep fault messages short.
fn clip(text: &str) -> String {
    text.chars().take(60).collect()
}
