//! Determines which of the needed blocks have been measured.

use std::collections::{BTreeMap, BTreeSet};

use super::Stopping;
use crate::collect::Reports;
use crate::plan::{Leg, Plan};

/// Progress of a run: its blocks, and the part of the plan that it does not need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Number of needed blocks that have been measured.
    pub done: u32,
    /// Number of needed blocks.
    pub total: u32,
    /// Number of planned blocks that are not needed.
    pub skipped: u32,
    /// Percentage of the planned cases that are not needed.
    pub saved_percent: f64,
}

impl Stopping {
    /// Progress of the run with these `reports`.
    pub fn progress(&self, plan: &Plan, reports: &Reports) -> Progress {
        if plan.analyses.len() == 1 {
            return Progress {
                done: reports.blocks_done(),
                total: plan.blocks_total,
                ..Progress::default()
            };
        }
        let measured = MeasuredArms::new(plan, reports);
        let mut progress = Progress::default();
        let (mut planned_cases, mut needed_cases) = (0, 0);
        for leg in &plan.legs {
            let needed = self.reduce(plan, leg);
            planned_cases += cases(leg);
            needed_cases += cases(&needed);
            progress.total += blocks(&needed);
            progress.done += measured.finished_blocks(&needed).len() as u32;
        }
        progress.skipped = plan.blocks_total - progress.total;
        progress.saved_percent = 100.0 * (planned_cases - needed_cases) as f64 / planned_cases.max(1) as f64;
        progress
    }

    /// Numbers of the blocks of `leg` that have been measured with all the arms that they need.
    pub fn finished_blocks(&self, plan: &Plan, leg: &Leg, reports: &Reports) -> BTreeSet<u32> {
        MeasuredArms::new(plan, reports).finished_blocks(&self.reduce(plan, leg))
    }

    /// Whether every needed block of `stage` has been measured.
    pub(crate) fn is_stage_measured(&self, plan: &Plan, reports: &Reports, stage: usize) -> bool {
        let measured = MeasuredArms::new(plan, reports);
        let mut legs = plan.legs.iter().filter(|leg| plan.stage_of_leg(leg) == stage);
        legs.all(|leg| {
            let needed = self.reduce(plan, leg);
            measured.finished_blocks(&needed).len() == blocks(&needed) as usize
        })
    }

    /// Number of blocks of each leg of `plan` that will be verified when the leg is complete: those that `reports`
    /// contain, and the needed blocks that are missing.
    pub fn blocks_by_leg(&self, plan: &Plan, reports: &Reports) -> Vec<u32> {
        let measured = MeasuredArms::new(plan, reports);
        let legs = plan.legs.iter().map(|leg| {
            let needed = self.reduce(plan, leg);
            let missing = blocks(&needed) - measured.finished_blocks(&needed).len() as u32;
            reports.done.get(&leg.leg).map_or(0, BTreeSet::len) as u32 + missing
        });
        legs.collect()
    }
}

fn blocks(leg: &Leg) -> u32 {
    leg.rounds.iter().map(|round| round.blocks.len() as u32).sum()
}

fn cases(leg: &Leg) -> usize {
    let blocks = leg.rounds.iter().flat_map(|round| &round.blocks);
    blocks.map(|block| block.order.len()).sum()
}

/// The measured arms of each block in the later stages. A block in the first stage is verified only if it contains all
/// arms that the plan assigns to it. In later stages, the arms that a block needs depend on earlier records, so
/// [`MeasuredArms::finished_blocks`] checks them.
struct MeasuredArms<'a> {
    plan: &'a Plan,
    reports: &'a Reports,
    later_stages: BTreeMap<u32, BTreeSet<usize>>,
}

impl<'a> MeasuredArms<'a> {
    fn new(plan: &'a Plan, reports: &'a Reports) -> Self {
        let mut later_stages: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for case in reports.cases.iter().filter(|case| plan.stage(case.round) > 0) {
            later_stages.entry(case.block).or_default().insert(case.arm);
        }
        Self {
            plan,
            reports,
            later_stages,
        }
    }

    /// Numbers of the blocks of `leg` that are verified and contain all arms that they need.
    fn finished_blocks(&self, leg: &Leg) -> BTreeSet<u32> {
        let blocks = leg.rounds.iter().flat_map(|round| &round.blocks);
        let is_first_stage = self.plan.stage_of_leg(leg) == 0;
        let is_finished = |block: &&crds::assignment::BlockAssignment| {
            let arms = block
                .order
                .iter()
                .filter_map(|position| leg.arms.get(*position as usize));
            let mut arms = arms.map(|(arm, _)| arm);
            let is_measured = |arm: &usize| {
                let measured = self.later_stages.get(&block.block);
                measured.is_some_and(|measured| measured.contains(arm))
            };
            self.reports.is_done(leg.leg, block.block) && (is_first_stage || arms.all(is_measured))
        };
        blocks.filter(is_finished).map(|block| block.block).collect()
    }
}
