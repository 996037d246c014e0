//! Converts results, comparisons and expectations to their form in the status, in which values are integers and field
//! names contain the unit.

use crds::record::ProtocolUse;
use crds::v1alpha1::{
    ArmResult, CallResult, CaseValidity, ComparisonEnd, ComparisonResult, DirectionsResult,
    DisturbanceResult, ExpectationResult, FactorEffectResult, FlowsResult, FlushResult, FootprintResult,
    InconclusiveReason, KneePosition, Metric, NodeResult, OptimizationResult, PairResult, PingResult,
    ProtocolResult, ReadBackResult, ServingResult, SweepKnee, SweepPoint, SweepResult, WithheldReason,
};

use super::bounded::{count_comparison_values, count_result_values};
use super::{MAX_FACTOR_EFFECTS, MAX_NODES, MAX_PAIRS, MAX_PROTOCOLS, MAX_RESULTS, MAX_SWEEPS, MAX_TEXT};
use crate::compare::{Comparison, Comparisons, FactorEffect, Inconclusive, Withheld};
use crate::format::clipped;
use crate::plan::Plan;
use crate::stats::{RoundsToSettle, median_of, percent_change};
use crate::summarize::{
    CallSummary, CellSummary, Directions, Disturbance, FlowsSummary, FootprintSummary, Knee, NodeDeviation,
    Observations, PairDeviation, RatePoint, Serving, Summary, SweepSummary,
};

/// Number of parts per million in 1.
const PPM: f64 = 1e6;
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
        let tail = |quantile: f64| cell.latency.tail_quantile(quantile);
        let median = |metric: Metric, factor: f64| {
            cell.metric(metric)
                .map(|summary| (summary.median * factor).round() as u64)
        };
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
            iterations: cell.iterations,
            validity: match cell.valid_cases {
                0 => CaseValidity::Invalid,
                _ => CaseValidity::Valid,
            },
            reason: cell.invalid_reason().map(|reason| clipped(&reason, MAX_TEXT)),
            p50_nanos: cell.latency.quantile(0.5),
            p95_nanos: tail(0.95),
            p99_nanos: tail(0.99),
            p999_nanos: tail(0.999),
            min_nanos: cell.min_nanos,
            max_nanos: cell.max_nanos,
            bytes_per_second: median(Metric::Throughput, 1.0),
            completions_per_second: median(Metric::CompletionRate, 1.0),
            cpu_nanos_per_gib: median(Metric::CpuSecondsPerGib, 1e9),
            cpu_percent: cell.cpu_percent.map(|percent| percent.round() as u32),
            mean_round_trip_nanos: cell
                .observations
                .mean_round_trip_nanos
                .map(|nanos| nanos.round() as u64),
            directions: cell.observations.directions.as_ref().map(directions),
            flush: flush(&cell.observations),
            ping: ping(&cell.observations),
            call: cell.call.as_ref().map(call),
            footprint: cell.footprint.as_ref().map(footprint),
            reported_latency_nanos: median(Metric::ReportedLatency, 1.0),
            reported_bytes_per_second: median(Metric::ReportedBandwidth, 1.0),
            flows: cell.flows.as_ref().and_then(flows),
            read_back: read_back(&cell.observations),
            first_batch_nanos: cell
                .observations
                .first_batch_nanos
                .map(|nanos| nanos.round() as u64),
            serving: cell.observations.serving.as_ref().map(serving),
            optimizations: optimizations.collect(),
            fabric: cell.fabric.as_ref().map(|proof| proof.proof),
            disturbance: cell.disturbance.as_ref().map(disturbance),
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

fn disturbance(found: &Disturbance) -> DisturbanceResult {
    let ppm = |share: f64| (share * PPM).round() as u64;
    DisturbanceResult {
        run_queue_ppm: found.run_queue_share.map(ppm),
        foreign_cpu_ppm: found.foreign_cpu_share.map(ppm),
        foreign_bytes: found.foreign_bytes,
    }
}

fn directions(found: &Directions) -> DirectionsResult {
    DirectionsResult {
        initiator_bytes_per_second: found.from_initiator.round() as u64,
        target_bytes_per_second: found.from_target.round() as u64,
        balance_ppm: Some((found.balance * PPM).round() as u64),
    }
}

fn call(found: &CallSummary) -> CallResult {
    let nanos = |value: f64| value.round() as u64;
    CallResult {
        payload: found.payload,
        section: found.section,
        cause: found.cause,
        hops: found.hops,
        mean_nanos: found.moments.map(|moments| nanos(moments.mean_nanos)),
        deviation_nanos: found
            .moments
            .and_then(|moments| moments.deviation_nanos)
            .map(nanos),
        clock_nanos: found.below_clock_nanos().map(nanos),
        hop_nanos: found.hop_nanos().map(nanos),
        memory_growth_bytes: found.memory_growth_bytes,
    }
}

fn footprint(found: &FootprintSummary) -> FootprintResult {
    let bytes = |value: f64| value.round() as u64;
    let memory = found.memory.as_ref();
    FootprintResult {
        section: found.section,
        cause: found.cause,
        consumers: found.consumers,
        baseline_bytes: memory.map(|memory| bytes(memory.baseline)),
        own_bytes: memory.map(|memory| bytes(memory.own)),
        own_min_bytes: memory.and_then(|memory| Some(bytes(memory.own_range?.0))),
        own_max_bytes: memory.and_then(|memory| Some(bytes(memory.own_range?.1))),
        consumer_bytes: memory.map(|memory| bytes(memory.consumer)),
        consumer_rss_bytes: memory.map(|memory| bytes(memory.consumer_rss)),
        tensor_bytes: memory.map(|memory| bytes(memory.tensor)),
        vram_bytes: memory.and_then(|memory| memory.vram).map(bytes),
        saved_bytes: memory.map(|memory| bytes(memory.saved_bytes())),
        saved_ppm: memory.map(|memory| (memory.saved_share() * PPM).round() as u64),
        slope_bytes: memory.map(|memory| memory.slope.round() as i64),
    }
}

fn flows(found: &FlowsSummary) -> Option<FlowsResult> {
    let whole = |rate: f64| rate.round() as u64;
    let mut rates = found.sorted_rates();
    let (slowest, fastest) = (*rates.first()?, *rates.last()?);
    let (slowest_receiver, fastest_receiver) = found.receiver_range()?;
    Some(FlowsResult {
        slowest_bytes_per_second: whole(slowest),
        median_bytes_per_second: whole(median_of(&mut rates)?),
        fastest_bytes_per_second: whole(fastest),
        slowest_receiver_bytes_per_second: whole(slowest_receiver),
        fastest_receiver_bytes_per_second: whole(fastest_receiver),
        fairness_ppm: whole(found.fairness * PPM),
    })
}

fn flush(found: &Observations) -> Option<FlushResult> {
    Some(FlushResult {
        p50_nanos: found.flushes.quantile(0.5)?,
        max_nanos: found.longest_flush()?,
    })
}

/// Result of the pings; `None` if there were no pings.
fn ping(found: &Observations) -> Option<PingResult> {
    (found.idle_pings.count() + found.loaded_pings.count() > 0).then(|| PingResult {
        idle_p99_nanos: found.idle_pings.tail_quantile(0.99),
        loaded_p99_nanos: found.loaded_pings.tail_quantile(0.99),
        blocking_ppm: found.blocking_ratio().map(|ratio| (ratio * PPM).round() as u64),
    })
}

fn serving(found: &Serving) -> ServingResult {
    let ppm = |value: f64| (value.max(0.0) * PPM).round() as u64;
    ServingResult {
        workers: found.workers.len() as u32,
        workers_without_version: found.workers_without_version() as u32,
        version_lag_mean_ppm: found.mean_version_lag.map(ppm),
        version_lag_p50: found.version_lag.quantile(0.5),
        version_lag_p99: found.version_lag.tail_quantile(0.99),
        version_lag_max: found.version_lag.quantile(1.0),
        worst_worker_lag_ppm: found.worst_worker_lag().map(ppm),
        time_lag_p50_nanos: found.time_lag.quantile(0.5),
        time_lag_p99_nanos: found.time_lag.tail_quantile(0.99),
        time_lag_max_nanos: found.time_lag.quantile(1.0),
        published: found.published,
        published_not_delivered_to_all: found.not_delivered_to_all,
        push_p50_nanos: found.pushes.quantile(0.5),
        push_max_nanos: found.pushes.quantile(1.0),
        push_bytes_per_second: found.push_bytes_per_second.map(|rate| rate.round() as u64),
        pull_p50_nanos: found.pulls.quantile(0.5),
        store_lag_ppm: found.store_lag.map(ppm),
        post_lag_ppm: found.post_lag.map(ppm),
        original_staleness_ppm: found.original_staleness.map(ppm),
        cold_steps: found.cold_steps,
        cold_nanos: found.cold_nanos,
        torn: found.torn,
        datagrams_sent: found.datagrams.map(|datagrams| datagrams.sent),
        datagrams_lost: found.datagrams.map(|datagrams| datagrams.lost),
        clock_bound_nanos: found.clock_bound_nanos,
    }
}

fn read_back(found: &Observations) -> Option<ReadBackResult> {
    Some(ReadBackResult {
        p50_nanos: found.read_backs.quantile(0.5)?,
        p99_nanos: found.read_backs.tail_quantile(0.99),
    })
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
