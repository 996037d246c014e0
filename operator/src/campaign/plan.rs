//! The plan of a run: legs, rounds, blocks, rails and chunks, in an order drawn from the seed. Pure.
//!
//! A plan leaves no choice to whoever carries it out. It is never edited, only replaced, and known by its hash.

use crds::assignment::{InstrumentProcess, RoundAssignment, ScenarioAssignment};
use crds::striping::StripingRule;
use crds::v1alpha1::{Metric, Optimization, Sampling, TransportSpec};
use serde::Serialize;

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
    /// The gangs, in the order they run.
    pub legs: Vec<Leg>,
    /// Blocks of all legs, the integrity pass included.
    pub blocks_total: u32,
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
    /// Image of its pods, where the variant names one.
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

/// Whether an optimization can take part in a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedOptimization {
    /// Which.
    pub optimization: Optimization,
    /// Why it cannot, where it cannot.
    pub not_applicable: Option<String>,
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
