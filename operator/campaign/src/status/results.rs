//! Converts results, comparisons and expectations to their form in the status, in which values are integers and field
//! names contain the unit.

use crds::record::ProtocolUse;
use crds::v1alpha1::{
    ArmResult, CallResult, CaseValidity, ComparisonEnd, ComparisonResult, ExpectationResult,
    FactorEffectResult, FootprintResult, InconclusiveReason, KneePosition, NodeResult, OptimizationResult,
    PairResult, ProtocolResult, SweepKnee, SweepPoint, SweepResult, WithheldReason,
};

use super::bounded::{count_comparison_values, count_result_values};
use super::limits::{
    MAX_FACTOR_EFFECTS, MAX_NODES, MAX_PAIRS, MAX_PROTOCOLS, MAX_RESULTS, MAX_SWEEPS, MAX_TEXT,
};
use crate::compare::{Comparison, Comparisons, FactorEffect, Inconclusive, Withheld};
use crate::format::clipped;
use crate::plan::Plan;
use crate::stats::{RoundsToSettle, percent_change};
use crate::summarize::{
    CallSummary, CellSummary, FootprintSummary, Knee, NodeDeviation, PairDeviation, RatePoint, Summary,
    SweepSummary,
};

/// Number of parts per million in 1 percent.
const PPM_PER_PERCENT: f64 = 1e4;
/// Maximum length of a node name, in characters: the Kubernetes limit for object names.
pub(super) const MAX_NODE_NAME: usize = 253;

fn name(names: &[&str], index: usize) -> String {
    names
        .get(index)
        .map(|name| (*name).to_owned())
        .unwrap_or_default()
}

fn names(plan: &Plan) -> (Vec<&str>, Vec<&str>) {
    let scenarios = plan.scenarios.iter();
    (
        scenarios
            .map(|scenario| scenario.assignment.name.as_str())
            .collect(),
        plan.arms.iter().map(|arm| arm.name.as_str()).collect(),
    )
}

/// At most [`MAX_RESULTS`] items, the number of omitted items and the number of values in them.
pub(super) struct BoundedList<T> {
    pub(super) items: Vec<T>,
    pub(super) omitted_items: usize,
    pub(super) omitted_values: u32,
}

impl<T> Default for BoundedList<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            omitted_items: 0,
            omitted_values: 0,
        }
    }
}

impl<T> BoundedList<T> {
    fn new(mut items: Vec<T>, values: fn(&T) -> u32) -> Self {
        let more = items.split_off(MAX_RESULTS.min(items.len()));
        Self {
            items,
            omitted_items: more.len(),
            omitted_values: more.iter().map(values).sum(),
        }
    }
}

/// Converts a percentage to parts per million.
fn ppm(percent: f64) -> i64 {
    (percent * PPM_PER_PERCENT).round() as i64
}

/// Results of every arm at every size at which it was measured.
pub(super) fn arm_results(plan: &Plan, summary: &Summary) -> BoundedList<ArmResult> {
    let (scenarios, arms) = names(plan);
    let measured = summary.cells.iter().filter(|cell| cell.cases > 0);
    let result = |cell: &CellSummary| {
        let optimizations = cell.evidence.iter().map(|evidence| OptimizationResult {
            optimization: evidence.optimization,
            engagement: evidence.engagement,
            reason: clipped(&evidence.reason, MAX_TEXT),
        });
        ArmResult {
            scenario: name(&scenarios, cell.scenario),
            size_bytes: cell.size_bytes,
            arm: name(&arms, cell.arm),
            valid_rounds: cell.valid_rounds.len() as u32,
            validity: match cell.valid_cases {
                0 => CaseValidity::Invalid,
                _ => CaseValidity::Valid,
            },
            reason: cell.invalid_reason().map(|reason| clipped(&reason, MAX_TEXT)),
            values: cell
                .values()
                .map(|(quantity, value)| (quantity, value.round() as i64))
                .collect(),
            call: cell.call.as_ref().map(call),
            footprint: cell.footprint.as_ref().map(footprint),
            optimizations: optimizations.collect(),
            fabric: cell.fabric.as_ref().map(|proof| proof.proof),
            emulated: cell.emulated,
            protocols: cell.protocols.iter().take(MAX_PROTOCOLS).map(protocol).collect(),
        }
    };
    BoundedList::new(measured.map(result).collect(), count_result_values)
}

fn protocol(found: &ProtocolUse) -> ProtocolResult {
    ProtocolResult {
        description: clipped(&found.description, MAX_TEXT),
        lanes: clipped(&found.lanes, MAX_TEXT),
        count: found.count,
        steps: found.steps.clone(),
    }
}

fn call(found: &CallSummary) -> CallResult {
    CallResult {
        payload: found.payload,
        section: found.section,
        cause: found.cause,
        hops: found.hops,
    }
}

fn footprint(found: &FootprintSummary) -> FootprintResult {
    FootprintResult {
        section: found.section,
        cause: found.cause,
        consumers: found.consumers,
    }
}

/// Factor effects, at most [`MAX_FACTOR_EFFECTS`].
pub(super) fn factor_effects(plan: &Plan, comparisons: &Comparisons) -> Vec<FactorEffectResult> {
    let (scenarios, _) = names(plan);
    let result = |one: &FactorEffect| {
        let ends = one.interval_percent();
        FactorEffectResult {
            scenario: name(&scenarios, one.scenario),
            size_bytes: one.size_bytes,
            kind: one.kind,
            factors: one.factors.clone(),
            rounds: one.rounds as u32,
            effect_ppm: one.effect.map(|effect| ppm(effect.percent)),
            lower_ppm: ends.map(|(lower, _)| ppm(lower)),
            upper_ppm: ends.map(|(_, upper)| ppm(upper)),
            verdict: one.verdict,
            reason: one
                .reason
                .as_ref()
                .map(|reason| clipped(&reason.to_string(), MAX_TEXT)),
        }
    };
    let effects = comparisons.factor_effects.iter().take(MAX_FACTOR_EFFECTS);
    effects.map(result).collect()
}

/// Comparisons of primary metrics and of metrics with an expectation.
pub(super) fn comparisons(plan: &Plan, comparisons: &Comparisons) -> BoundedList<ComparisonResult> {
    let (scenarios, arms) = names(plan);
    let expected = |one: &Comparison| {
        let mut answers = comparisons.expectations.iter();
        answers.any(|answer| {
            (answer.scenario, answer.arm, answer.metric) == (Some(one.scenario), Some(one.arm), one.metric)
        })
    };
    let items = comparisons.all.iter().filter(|one| one.primary || expected(one));
    let result = |one: &Comparison| {
        let ends = one.interval_percent();
        ComparisonResult {
            scenario: name(&scenarios, one.scenario),
            size_bytes: one.size_bytes,
            arm: name(&arms, one.arm),
            metric: one.metric,
            primary: one.primary,
            negative_control: one.role.is_control(),
            rounds: one.rounds as u32,
            effect_ppm: one.effect.map(|effect| ppm(effect.percent)),
            lower_ppm: ends.map(|(lower, _)| ppm(lower)),
            upper_ppm: ends.map(|(_, upper)| ppm(upper)),
            minimum_detectable_ppm: one
                .minimum_detectable_percent
                .map(|percent| (percent * PPM_PER_PERCENT).round() as u64),
            verdict: one.verdict,
            withheld: one.reason.as_ref().and_then(withheld),
            inconclusive: one.inconclusive.as_ref().map(|cause| match cause {
                Inconclusive::Resolution { .. } => InconclusiveReason::Resolution,
                Inconclusive::Noise(_) => InconclusiveReason::Noise,
            }),
            reason: one.explanation().map(|reason| clipped(&reason, MAX_TEXT)),
            rounds_to_settle: match one.rounds_to_settle {
                Some(RoundsToSettle::About(rounds)) => Some(rounds),
                Some(RoundsToSettle::MoreThan(_)) | None => None,
            },
            ended: one.ended.map(|ended| ComparisonEnd {
                rounds: ended.rounds,
                reason: ended.reason,
            }),
        }
    };
    BoundedList::new(items.map(result).collect(), count_comparison_values)
}

/// The machine-readable reason for a withheld verdict. Controls and secondary metrics have none.
fn withheld(reason: &Withheld) -> Option<WithheldReason> {
    match reason {
        Withheld::NotMeasured { .. } | Withheld::NoValidRound { .. } | Withheld::NoCommonRound => {
            Some(WithheldReason::NotMeasured)
        }
        Withheld::Contradicted { .. } => Some(WithheldReason::FabricContradicted),
        Withheld::DifferentDevices { .. } => Some(WithheldReason::DifferentDevices),
        Withheld::ControlViolated { .. } => Some(WithheldReason::ControlViolated),
        Withheld::InterfaceShared { .. } => Some(WithheldReason::InterfaceShared),
        Withheld::NotEngaged { .. } | Withheld::NoEffect { .. } => Some(WithheldReason::NotEngaged),
        Withheld::NotApplicable { .. } => Some(WithheldReason::NotApplicable),
        Withheld::NotAnalyzed { .. } => Some(WithheldReason::NotAnalyzed),
        Withheld::NotPrimary
        | Withheld::Control
        | Withheld::Identical { .. }
        | Withheld::NoInterval { .. } => None,
    }
}

pub(super) fn expectations(comparisons: &Comparisons) -> Vec<ExpectationResult> {
    let result = |answer: &crate::compare::ExpectationAnswer| ExpectationResult {
        index: answer.index as u32,
        text: clipped(&answer.text, MAX_TEXT),
        outcome: answer.outcome,
        reason: clipped(&answer.reason, MAX_TEXT),
    };
    comparisons.expectations.iter().map(result).collect()
}

/// The first [`MAX_SWEEPS`] sweep results of arms. Rates without a valid case have no point.
pub(super) fn sweeps(plan: &Plan, sweeps: &[SweepSummary]) -> Vec<SweepResult> {
    let (_, arms) = names(plan);
    let whole = |value: f64| value.round() as u64;
    let point = |point: &RatePoint| SweepPoint {
        rate: point.rate,
        completed_rate: point.completed_rate.as_ref().map(|rate| whole(rate.median)),
        p50_nanos: point.p50_nanos.map(whole),
        p99_nanos: point.p99_nanos.map(whole),
        sustained: point.sustained,
    };
    let result = |sweep: &SweepSummary| {
        let capacity = sweep.capacity.as_ref();
        SweepResult {
            scenario: sweep.sweep.clone(),
            size_bytes: sweep.size_bytes,
            arm: name(&arms, sweep.arm),
            knee: sweep.knee.map(knee),
            capacity: capacity.map(|summary| whole(summary.median)),
            capacity_lower: capacity.and_then(|summary| summary.lower).map(whole),
            capacity_upper: capacity.and_then(|summary| summary.upper).map(whole),
            points: sweep.measured_points().map(point).collect(),
        }
    };
    let measured = sweeps
        .iter()
        .filter(|sweep| sweep.measured_points().next().is_some());
    measured.take(MAX_SWEEPS).map(result).collect()
}

fn knee(knee: Knee) -> SweepKnee {
    let (position, rate, next_rate) = match knee {
        Knee::BelowRange => (KneePosition::BelowRange, None, None),
        Knee::InRange { rate, next } => (KneePosition::InRange, Some(rate), Some(next)),
        Knee::AboveRange => (KneePosition::AboveRange, None, None),
    };
    SweepKnee {
        position,
        rate,
        next_rate,
    }
}

/// The [`MAX_PAIRS`] pairs of nodes that deviate most.
pub(super) fn pairs(plan: &Plan, pairs: &[PairDeviation]) -> Vec<PairResult> {
    let (scenarios, _) = names(plan);
    let result = |pair: &PairDeviation| PairResult {
        scenario: name(&scenarios, pair.scenario),
        size_bytes: pair.size_bytes,
        initiator: clipped(&pair.initiator, MAX_NODE_NAME),
        target: clipped(&pair.target, MAX_NODE_NAME),
        deviation_ppm: (percent_change(pair.log_ratio) * PPM_PER_PERCENT).round() as i64,
    };
    pairs.iter().take(MAX_PAIRS).map(result).collect()
}

/// Deviations of at most [`MAX_NODES`] nodes, worst first.
pub(super) fn nodes(nodes: &[NodeDeviation]) -> Vec<NodeResult> {
    let result = |node: &NodeDeviation| NodeResult {
        name: clipped(&node.node, MAX_NODE_NAME),
        deviation_ppm: (percent_change(node.worse_log_ratio) * PPM_PER_PERCENT).round() as i64,
    };
    nodes.iter().take(MAX_NODES).map(result).collect()
}
