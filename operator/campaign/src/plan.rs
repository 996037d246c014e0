//! The plan of a run: legs, rounds, blocks, rails and chunks, in an order drawn from the seed. Pure.
//!
//! A plan leaves no choice to whoever carries it out. It is never edited, only replaced, and known by its hash.

mod arms;
mod assignment;
mod cells;
mod draw;
mod estimate;
mod gangs;
mod hash;
mod legs;
mod scenarios;

use crds::assignment::{InstrumentProcess, RoundAssignment, ScenarioAssignment};
use crds::striping::StripingRule;
use crds::v1alpha1::{Expectation, Metric, Sampling, TransportSpec};
use serde::Serialize;
use snafu::Snafu;

use super::posting::PlannedOptimization;
use super::validate::ValidatedRun;
pub use assignment::{AssignmentInputs, assignment};
pub use estimate::{Assumption, Estimate, case_seconds, estimate, leg_estimate};
pub use hash::hash;

/// Everything a run will do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Name of the run.
    pub run: String,
    /// Library, provider and number of rails of every arm.
    pub transport: TransportSpec,
    /// Number of workers.
    pub workers: u32,
    /// Sampling with every default filled in; `rounds` is always there.
    pub sampling: Sampling,
    /// Rounds that are measured; round 0, the integrity pass, is not among them.
    pub rounds: u32,
    /// All arms: the variants in the order of the spec, then the control arms.
    pub arms: Vec<Arm>,
    /// Index of the baseline in `arms`.
    pub baseline: usize,
    /// The scenarios with their sizes.
    pub scenarios: Vec<PlannedScenario>,
    /// What is expected; each names a variant and a scenario of this plan.
    pub expectations: Vec<Expectation>,
    /// The gangs, in the order they run.
    pub legs: Vec<Leg>,
    /// Blocks of all legs, the integrity pass included.
    pub blocks_total: u32,
    /// Longest time from the first worker ready to the last record, in seconds.
    pub active_deadline_seconds: u32,
    /// Longest time a single case may take, in seconds.
    pub case_deadline_seconds: u32,
}

/// One arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Arm {
    /// Name in records: the variant's, or that of a control arm.
    pub name: String,
    /// Whether it is a second copy of the baseline, and for which way of separation.
    pub control: Option<Separation>,
    /// How far it is measured from the baseline.
    pub separation: Separation,
    /// Image of its pods, where the variant or the run names one.
    pub image: Option<String>,
    /// Its instrument process: environment and library.
    pub process: InstrumentProcess,
    /// Largest message injected.
    pub inject_max_bytes: Option<u64>,
    /// Most posts for one doorbell.
    pub doorbell_max_batch: Option<u32>,
    /// How a transfer is spread over rails, with every default filled in.
    pub striping: StripingRule,
}

/// How far two arms are measured from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Separation {
    /// In the same instrument process.
    Tuning,
    /// In another instrument process of the same workers.
    Environment,
    /// In another leg.
    Image,
}

/// One scenario with its sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedScenario {
    /// What the workers are told.
    pub assignment: ScenarioAssignment,
    /// Sizes in bytes, in the order of the spec.
    pub sizes: Vec<u64>,
    /// The metric that verdicts are read off.
    pub primary: Metric,
    /// Comparisons on it that must hold together: variants other than the baseline times sizes.
    pub comparisons: u32,
    /// Fewest rounds with which a verdict is possible.
    pub minimum_rounds: u32,
    /// Whether every byte is checked once before the measuring.
    pub integrity: bool,
    /// What each arm does at each size; by size, then by arm.
    pub cells: Vec<Cell>,
}

/// What one arm does at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// Size in bytes.
    pub size_bytes: u64,
    /// Index of the arm.
    pub arm: usize,
    /// Rails a transfer uses.
    pub rails: u64,
    /// Length of every chunk but the last, in bytes.
    pub chunk_bytes: u64,
    /// Length of the last chunk, in bytes.
    pub last_chunk_bytes: u64,
    /// Most posts on one rail in one burst.
    pub posts_per_burst: u64,
    /// Posts with FI_MORE on one rail in one burst.
    pub more_per_burst: u64,
    /// The optimizations the arm asks for, and whether each can take part here.
    pub optimizations: Vec<PlannedOptimization>,
    /// Whether the arm does here exactly what the baseline does, as far as the plan can know: a negative control.
    pub same_as_baseline: bool,
}

/// One gang with one image.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leg {
    /// Number, from 0.
    pub leg: u32,
    /// Image of its pods, where a variant or the run names one.
    pub image: Option<String>,
    /// Its instrument processes; each arm's place among them is in `arms`.
    pub processes: Vec<InstrumentProcess>,
    /// Its arms: index in [`Plan::arms`] and index in `processes`. Orders in `rounds` are indexes into this list.
    pub arms: Vec<(usize, u32)>,
    /// What it measures, in this order.
    pub rounds: Vec<RoundAssignment>,
}

/// Why a valid run cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
pub enum PlanError {
    /// The records of one block do not fit a leg's stream.
    #[snafu(display(
        "spec.placement.workers: one block of scenario \"{scenario}\" has {cases} cases ({arms} arms, {pairs} pairs), and \
         their records would take {bytes} bytes of the {limit} that a stream may have. Use fewer workers or variants"
    ))]
    BlockTooLarge {
        /// The scenario.
        scenario: String,
        /// Arms of the leg.
        arms: u64,
        /// Pairs of workers.
        pairs: u64,
        /// Cases of the block.
        cases: u64,
        /// Estimated bytes.
        bytes: u64,
        /// Most bytes of a stream.
        limit: u64,
    },
    /// More gangs than any cluster would be asked for.
    #[snafu(display(
        "spec.sampling.rounds: the run needs {legs} gangs of pods, more than {limit}. Use fewer rounds, sizes, workers or \
         images"
    ))]
    TooManyLegs {
        /// Gangs needed.
        legs: usize,
        /// Most gangs of a run.
        limit: usize,
    },
    /// The confidence admits no interval.
    #[snafu(display("spec.sampling.confidencePercent: {reason}"))]
    Confidence {
        /// What is wrong with it.
        reason: String,
    },
}

/// Plans a run.
///
/// # Errors
/// When a block or the whole run is too large for the executors.
pub fn plan(run: &ValidatedRun) -> Result<Plan, PlanError> {
    let arms = arms::plan(run);
    let scenarios = scenarios::plan(run, &arms)?;
    let recommended = scenarios::recommended_rounds(run, &scenarios)?;
    let rounds = run.sampling.rounds.unwrap_or(recommended);
    let mut plan = Plan {
        run: run.name.clone(),
        transport: run.transport.clone(),
        workers: run.workers,
        sampling: Sampling {
            rounds: Some(rounds),
            ..run.sampling
        },
        rounds,
        arms,
        baseline: run.baseline,
        scenarios,
        expectations: run.expectations.clone(),
        legs: Vec::new(),
        blocks_total: 0,
        active_deadline_seconds: run.active_deadline_seconds,
        case_deadline_seconds: run.case_deadline_seconds,
    };
    plan.legs = legs::plan(&plan)?;
    let blocks = plan
        .legs
        .iter()
        .flat_map(|leg| &leg.rounds)
        .map(|round| round.blocks.len());
    plan.blocks_total = u32::try_from(blocks.sum::<usize>()).unwrap_or(u32::MAX);
    Ok(plan)
}

impl Plan {
    /// Pairs of workers.
    pub fn pairs(&self) -> u64 {
        let workers = u64::from(self.workers);
        workers * workers.saturating_sub(1) / 2
    }

    /// What `arm` does at `size_bytes` of scenario `scenario`; `None` where one of them is not in the plan.
    pub fn cell(&self, scenario: usize, size_bytes: u64, arm: usize) -> Option<&Cell> {
        let cells = &self.scenarios.get(scenario)?.cells;
        cells
            .iter()
            .find(|cell| cell.size_bytes == size_bytes && cell.arm == arm)
    }
}

#[cfg(test)]
mod tests;
