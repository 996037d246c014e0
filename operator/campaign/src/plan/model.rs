//! The plan of a run.

use std::collections::{BTreeMap, BTreeSet};

use crds::assignment::{InstrumentProcess, RoundAssignment, ScenarioAssignment, pilot};
use crds::striping::StripingRule;
use crds::v1alpha1::{
    Alignment, Claims, Devices, Expectation, ManyToMany, Metric, Optimization, RateFormat, RpcChannel,
    Sampling, TransportSpec,
};
use serde::Serialize;
use snafu::Snafu;

use super::role::Role;
use crate::posting::PlannedOptimization;
use crate::stats::{Family, StatsError};

/// Complete description of what a run measures, and in which order.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Name of the run.
    pub run: String,
    /// Library and provider of the arms that do not set their own. The number of rails is the same for all arms.
    pub transport: TransportSpec,
    /// Number of workers.
    pub workers: u32,
    /// Senders and receivers of the many-to-many pattern; `None` if every pair of workers exchanges data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub many_to_many: Option<ManyToMany>,
    /// GPUs, NICs and NUMA node that every worker uses.
    #[serde(skip_serializing_if = "Devices::is_default")]
    pub devices: Devices,
    /// Required position of each NIC relative to the memory that it accesses.
    #[serde(skip_serializing_if = "Alignment::is_none")]
    pub align: Alignment,
    /// Sampling settings with the number of rounds filled in. `seed` and `shared_interface` are `None` if the spec does
    /// not set them.
    pub sampling: Sampling,
    /// Whether a cluster must reserve the nodes of the workers for the run. Not part of the hash, which thus stays the one
    /// of earlier releases.
    #[serde(skip)]
    pub reserves_nodes: bool,
    /// Seed of the random order.
    pub seed: u64,
    /// Number of measured rounds, excluding round 0, which contains the integrity pass and the pilot.
    pub rounds: u32,
    /// Numbers of rounds after which the run is analyzed, in ascending order. The last is `rounds`; only a run with
    /// [`Stop::Settled`](crds::v1alpha1::Stop::Settled) has others. The rounds that an analysis is the first to include
    /// form a stage.
    #[serde(skip_serializing_if = "has_single_analysis")]
    pub analyses: Vec<u32>,
    /// Version of the rules by which analyses end comparisons; `None` if the run has a single analysis. A run can be
    /// evaluated only with the rules that it was measured with, because they determined its blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopping_rules: Option<u32>,
    /// The variants in spec order, then the control arms.
    pub arms: Vec<Arm>,
    /// Index of the baseline in `arms`.
    pub baseline: usize,
    /// Factors whose combinations are the variants; empty if the spec lists the variants. The binary digits of the
    /// index of a variant select its factors, lowest digit first, so the baseline is variant 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<Optimization>,
    /// The scenarios, in spec order. The rates of a sweep are adjacent, in ascending order.
    pub scenarios: Vec<PlannedScenario>,
    /// The expectations, in spec order. Each one names a variant and a scenario of this plan.
    pub expectations: Vec<Expectation>,
    /// The legs, in the order in which they run.
    pub legs: Vec<Leg>,
    /// Number of controls in all scenarios. A control is a comparison that must not show an effect.
    pub controls: u32,
    /// Number of blocks in all legs, including the integrity pass and the pilot.
    pub blocks_total: u32,
    /// Maximum total time that the workers may run, in seconds.
    pub active_deadline_seconds: u32,
    /// Maximum duration of one case, in seconds.
    pub case_deadline_seconds: u32,
}

/// A variant or a control arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Arm {
    /// Name in records: the name of the variant, or the reserved name of the control arm.
    pub name: String,
    /// Separation for which this arm is the control; `None` for a variant. A control arm is a second copy of the
    /// baseline.
    pub control: Option<Separation>,
    /// Separation between the measurements of this arm and those of the baseline.
    pub separation: Separation,
    /// Pod image, if the variant or the run specifies one.
    pub image: Option<String>,
    /// Devices that the workers claim, if the variant or the run specifies any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<Claims>,
    /// Environment variables and library of the arm's instrument process.
    pub process: InstrumentProcess,
    /// Maximum size, in bytes, of a chunk that is injected.
    pub inject_max_bytes: Option<u64>,
    /// Maximum number of posts per doorbell.
    pub doorbell_max_batch: Option<u32>,
    /// Rule for striping a transfer across rails, with all defaults filled in.
    pub striping: StripingRule,
    /// Channel for the arm's calls in `rpc` and `memoryFootprint` scenarios.
    #[serde(skip_serializing_if = "is_transport")]
    pub channel: RpcChannel,
    /// Arguments of the arm in command scenarios.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

fn is_transport(channel: &RpcChannel) -> bool {
    channel.is_transport()
}

/// Separation between the measurements of two arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Separation {
    /// Both arms run in the same instrument process.
    Tuning,
    /// The arms run in different instrument processes of the same workers.
    Environment,
    /// The arms run in different legs, because their images differ.
    Image,
    /// The arms run in different legs, because their workers claim different devices.
    Claims,
}

impl Separation {
    /// Whether the arms run in different legs, and therefore in different pods.
    pub fn is_leg(self) -> bool {
        matches!(self, Self::Image | Self::Claims)
    }
}

/// A scenario with its sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedScenario {
    /// Description of the scenario in the worker assignments.
    pub assignment: ScenarioAssignment,
    /// Name of the scenario in the spec, if this scenario was created for one rate of its sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<String>,
    /// Name of the scenario in the spec, if that scenario lists several counts of workers or consumers and this scenario
    /// was created for one of them. The name in JSON is the one of earlier releases, so that the hashes of their plans stay
    /// valid.
    #[serde(rename = "severalWorkers", skip_serializing_if = "Option::is_none")]
    pub several_counts: Option<String>,
    /// Sizes in bytes, in spec order.
    pub sizes: Vec<u64>,
    /// Primary metric, the only one for which verdicts are given.
    pub primary: Metric,
    /// Format of the throughput in reports; `None` for the default format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_format: Option<RateFormat>,
    /// Number of comparisons in the family of the primary metric: those with the role [`Role::Variant`].
    pub comparisons: u32,
    /// Number of effects in the family of the factors; 0 if there are no factors.
    #[serde(skip_serializing_if = "is_zero")]
    pub factor_effects: u32,
    /// Minimum number of rounds for a verdict.
    pub minimum_rounds: u32,
    /// Whether the integrity pass verifies every byte once before the measurement.
    pub integrity: bool,
    /// Number of operations per thread that the spec sets for each size in bytes. Empty if a pilot determines the
    /// numbers, or if the workload needs no pilot.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub operation_counts: BTreeMap<u64, u32>,
    /// Posts of each arm at each size, ordered by size, then by arm.
    pub cells: Vec<Cell>,
}

/// Why settings of a library do not apply if [`Plan::uses_library`] is false.
pub const LIBRARY_NOT_USED: &str = "the timed operations do not use the library of the transport";

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn has_single_analysis(analyses: &[u32]) -> bool {
    analyses.len() == 1
}

/// Posts of one arm at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// Size in bytes.
    pub size_bytes: u64,
    /// Index of the arm.
    pub arm: usize,
    /// Number of rails that a transfer uses.
    pub rails: u64,
    /// Length of every chunk but the last, in bytes.
    pub chunk_bytes: u64,
    /// Length of the last chunk, in bytes.
    pub last_chunk_bytes: u64,
    /// Maximum number of posts on one rail in one burst.
    pub posts_per_burst: u64,
    /// Number of posts with FI_MORE on one rail in one burst.
    pub more_per_burst: u64,
    /// Optimizations that the arm requests, and whether each one applies at this size.
    pub optimizations: Vec<PlannedOptimization>,
    /// Purpose of the comparison with the baseline; `None` for the baseline itself.
    pub role: Option<Role>,
}

/// One gang of pods with one image and the same claims, and the part of the run that it measures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leg {
    /// Leg number, starting at 0.
    pub leg: u32,
    /// Pod image, if a variant or the run specifies one.
    pub image: Option<String>,
    /// Devices that the workers claim, if a variant or the run specifies any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<Claims>,
    /// Instrument processes of each worker.
    pub processes: Vec<InstrumentProcess>,
    /// Arms of the leg, each as an index into [`Plan::arms`] and an index into `processes`. The orders in `rounds`
    /// consist of indexes into this list.
    pub arms: Vec<(usize, u32)>,
    /// Rounds of the leg, in the order in which they run.
    pub rounds: Vec<RoundAssignment>,
}

/// Reason that a valid run cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
pub enum PlanError {
    /// The records of one block do not fit in the record stream of a leg.
    #[snafu(display(
        "spec.placement.workers: one block of scenario \"{scenario}\" has {cases} cases ({arms} arms, {pairs} pairs). \
         Its records would take {bytes} bytes, more than the limit of {limit} bytes for a record stream. Use fewer \
         workers or variants"
    ))]
    BlockTooLarge {
        /// Name of the scenario.
        scenario: String,
        /// Number of arms in the leg.
        arms: u64,
        /// Number of pairs of workers.
        pairs: u64,
        /// Number of cases in the block.
        cases: u64,
        /// Estimated size of its records, in bytes.
        bytes: u64,
        /// Maximum size of a record stream, in bytes.
        limit: u64,
    },
    /// The run needs too many gangs of pods.
    #[snafu(display(
        "spec.sampling.rounds: the run needs {legs} gangs of pods, more than the limit of {limit}. Use fewer rounds, \
         sizes, workers or images"
    ))]
    TooManyLegs {
        /// Number of gangs needed.
        legs: usize,
        /// Maximum number of gangs in a run.
        limit: usize,
    },
    /// No interval exists at the requested confidence.
    #[snafu(display("spec.sampling.confidencePercent: {reason}"))]
    Confidence {
        /// Why the confidence is invalid.
        reason: String,
    },
}

impl PlannedScenario {
    /// Name of the scenario in the spec.
    pub fn name_in_spec(&self) -> &str {
        self.sweep
            .as_ref()
            .or(self.several_counts.as_ref())
            .unwrap_or(&self.assignment.name)
    }

    /// Intended operations per second per thread in an open loop; `None` for a closed loop.
    pub fn rate(&self) -> Option<u32> {
        let open_loop = self.assignment.workload.open_loop();
        open_loop.map(|open_loop| open_loop.rate)
    }

    /// Whether a pilot determines the number of operations.
    pub fn needs_pilot(&self) -> bool {
        self.operation_counts.is_empty() && pilot::extent(&self.assignment.workload).is_some()
    }
}

impl Plan {
    /// Name of the arm with this index, which says so if the plan has no such arm.
    pub fn arm_name(&self, arm: usize) -> &str {
        let arm = self.arms.get(arm);
        arm.map_or("(an arm that the plan does not have)", |arm| &arm.name)
    }

    /// Name of the scenario with this index, which says so if the plan has no such scenario.
    pub fn scenario_name(&self, scenario: usize) -> &str {
        let scenario = self.scenarios.get(scenario);
        scenario.map_or("(a scenario that the plan does not have)", |scenario| {
            &scenario.assignment.name
        })
    }

    /// The legs that measure `arm` and start no later than round `last_round`.
    pub fn legs_of_arm(&self, arm: usize, last_round: u32) -> impl Iterator<Item = &Leg> {
        self.legs.iter().filter(move |leg| {
            let first_round = leg.rounds.first().map_or(0, |round| round.round);
            first_round <= last_round && leg.arms.iter().any(|(index, _)| *index == arm)
        })
    }

    /// Library and provider of `arm`.
    pub fn transport_of<'a>(&'a self, arm: &'a Arm) -> &'a TransportSpec {
        arm.transport_or(&self.transport)
    }

    /// Whether the calls of arm `arm` in `scenario` stay on the initiator's machine and do not use the transport.
    pub fn is_off_fabric(&self, scenario: &PlannedScenario, arm: usize) -> bool {
        let workload = &scenario.assignment.workload;
        self.arms
            .get(arm)
            .is_some_and(|arm| workload.is_off_fabric(arm.channel))
    }

    /// Whether the timed operations of arm `arm` in `scenario` may use the library of its transport.
    pub fn uses_library(&self, scenario: &PlannedScenario, arm: usize) -> bool {
        let workload = &scenario.assignment.workload;
        self.arms
            .get(arm)
            .is_some_and(|arm| workload.uses_library(arm.channel))
    }

    /// Whether an operation of arm `arm` in `scenario` moves the bytes of a payload of `size_bytes` bytes.
    pub fn moves_payload(&self, scenario: &PlannedScenario, arm: usize, size_bytes: u64) -> bool {
        let workload = &scenario.assignment.workload;
        self.arms
            .get(arm)
            .is_some_and(|arm| workload.moves_payload(arm.channel, size_bytes))
    }

    /// Library and provider of each arm, in arm order.
    pub fn transports(&self) -> impl Iterator<Item = &TransportSpec> {
        self.arms.iter().map(|arm| self.transport_of(arm))
    }

    /// Number of rails of a worker, over all its GPUs.
    pub fn rails(&self) -> u64 {
        u64::from(self.transport.rails()) * u64::from(self.devices.groups())
    }

    /// Number of turns that it takes to run all pairs of workers, with disjoint pairs running concurrently. The circle
    /// method schedules all pairs of n workers in n - 1 turns if n is even, and in n turns if n is odd. All flows of
    /// the many-to-many pattern run in one turn.
    pub fn turns(&self) -> u32 {
        match self.many_to_many {
            Some(_) => 1,
            None => self.workers.saturating_sub(1) + self.workers % 2,
        }
    }

    /// Family of `comparisons` comparisons of a scenario, or of the controls of the run, at the level of one analysis.
    /// If `comparisons` is 0, the level is that of a single comparison: without verdicts, intervals are only
    /// descriptive.
    ///
    /// # Errors
    /// Returns an error if the plan's confidence is out of range. `validate` rejects such a spec.
    pub fn family(&self, comparisons: u32) -> Result<Family, StatsError> {
        let confidence = f64::from(self.sampling.confidence_percent);
        Ok(Family::new(comparisons.max(1), confidence)?.with_analyses(self.analyses.len()))
    }

    /// Index of the stage to which `round` belongs: the stage of the first analysis that includes it. Round 0 belongs
    /// to the first stage.
    pub fn stage(&self, round: u32) -> usize {
        self.analyses.partition_point(|analysis| *analysis < round)
    }

    /// Index of the stage to which the rounds of `leg` belong.
    pub fn stage_of_leg(&self, leg: &Leg) -> usize {
        leg.rounds.first().map_or(0, |round| self.stage(round.round))
    }

    /// Number of pairs of workers that exchange data.
    pub fn pairs(&self) -> u64 {
        let workers = u64::from(self.workers);
        self.many_to_many
            .map_or(workers * workers.saturating_sub(1) / 2, ManyToMany::flow_count)
    }

    /// Ranks that identify the cases that share one value with a case between these ranks. In the pairwise pattern,
    /// these are the ranks of the pair. All flows of the many-to-many pattern share one value, so the result is the same
    /// for every flow.
    pub(crate) fn ranks_sharing_a_value(&self, initiator: u32, target: u32) -> (u32, u32) {
        match self.many_to_many {
            Some(pattern) => (0, pattern.senders),
            None => (initiator, target),
        }
    }

    /// Largest number of flows of a worker that run concurrently.
    pub fn flows_of_a_worker(&self) -> u32 {
        self.many_to_many.map_or(1, ManyToMany::max_flows_of_a_worker)
    }

    /// Environment variables that the variants set, sorted by name. `None` if all arms share a process, so that none of
    /// them differs in its environment, library or image.
    pub fn assessed_variables(&self) -> Option<Vec<String>> {
        let separate = |arm: &Arm| arm.separation != Separation::Tuning;
        let names: BTreeSet<&String> = self.arms.iter().flat_map(|arm| arm.process.env.keys()).collect();
        self.arms
            .iter()
            .any(separate)
            .then(|| names.into_iter().cloned().collect())
    }

    /// Cell of `arm` at `size_bytes` in the scenario with index `scenario`; `None` if the plan has no such cell.
    pub fn cell(&self, scenario: usize, size_bytes: u64, arm: usize) -> Option<&Cell> {
        let cells = &self.scenarios.get(scenario)?.cells;
        cells
            .iter()
            .find(|cell| cell.size_bytes == size_bytes && cell.arm == arm)
    }
}
