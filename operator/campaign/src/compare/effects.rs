//! Estimates the effect of every arm in every scenario, at every size, on every metric. Performs no I/O.

use std::collections::{BTreeMap, BTreeSet};

use crds::v1alpha1::Metric;

use super::case_index::{CaseIndex, CasesOfOneValue};
use super::comparison::{Comparison, Effect, PairEffect};
use super::reason::Withheld;
use crate::plan::{Plan, Role};
use crate::stats::{
    BetterDirection, BoundedPair, Margin, PairedResult, RoundEffects, StatsError, compare_bounded,
    percent_change, signed_rank,
};
use crate::stopping::{ComparisonKey, Stopping};
use crate::summarize::{METRICS, bounded_statistic};

/// Estimates every comparison of `plan`, with the verdict that follows from its interval alone. The `withhold` module
/// then removes the verdicts that must not be reported.
pub(super) fn estimate(
    plan: &Plan,
    index: &CaseIndex<'_>,
    stopping: &Stopping,
) -> Result<Vec<Comparison>, StatsError> {
    let margin = Margin::from_percent(f64::from(plan.sampling.margin_percent))?;
    let controls = plan.family(plan.controls)?;
    let first_analysis = stopping.awaited_first_analysis(plan);
    let mut all = Vec::new();
    for (scenario, planned) in plan.scenarios.iter().enumerate() {
        let family = plan.family(planned.comparisons)?;
        let mut metrics = METRICS;
        metrics.sort_by_key(|metric| *metric != planned.primary);
        for size_bytes in &planned.sizes {
            for arm in (0..plan.arms.len()).filter(|arm| *arm != plan.baseline) {
                let key = (scenario, *size_bytes, arm);
                let last_round = stopping.last_round(plan, key).unwrap_or(u32::MAX);
                for metric in metrics {
                    let values = RoundValues::collect(plan, index, key, (metric, last_round));
                    let effects = values.round_effects()?;
                    let direction = BetterDirection::from(metric);
                    let result = match values.rounds_below_resolution() {
                        0 => compare_bounded(&effects, &family, margin, direction),
                        affected => PairedResult::below_resolution(affected, values.rounds.len()),
                    };
                    let cell = plan.cell(scenario, *size_bytes, arm);
                    let comparison = Comparison {
                        scenario,
                        size_bytes: *size_bytes,
                        arm,
                        metric,
                        primary: metric == planned.primary,
                        role: cell.and_then(|cell| cell.role).unwrap_or(Role::Variant),
                        rounds: result.rounds,
                        ended: stopping.early_end(key),
                        effect: None,
                        interval: None,
                        printed_interval: None,
                        resolution: None,
                        is_resolution_open: false,
                        control_interval: None,
                        minimum_detectable_percent: None,
                        verdict: None,
                        reason: first_analysis.map(|rounds| Withheld::NotAnalyzed { rounds }),
                        inconclusive: None,
                        rounds_to_settle: None,
                        rounds_to_equivalence: None,
                        round_percents: Vec::new(),
                        pairs: Vec::new(),
                    };
                    // Before its first analysis, a run with several analyses has no effects, no intervals and no
                    // verdicts: its confidence covers only the analyses.
                    if first_analysis.is_some() {
                        all.push(comparison);
                        continue;
                    }
                    all.push(Comparison {
                        control_interval: (comparison.primary && comparison.role.is_control())
                            .then(|| effects.interval(controls.level()))
                            .flatten(),
                        round_percents: if comparison.primary {
                            effects.printed.iter().copied().map(percent_change).collect()
                        } else {
                            Vec::new()
                        },
                        pairs: match plan.many_to_many {
                            Some(_) => Vec::new(),
                            None => values.pair_effects(),
                        },
                        ..with_result(comparison, result)
                    });
                }
            }
        }
    }
    Ok(all)
}

/// Fills `comparison` with the result of its rounds.
fn with_result(comparison: Comparison, result: PairedResult) -> Comparison {
    Comparison {
        effect: result.estimate.map(Effect::new),
        minimum_detectable_percent: result.minimum_detectable_effect.map(percent_change),
        verdict: Some(result.verdict),
        is_resolution_open: result.is_resolution_open,
        reason: result.interval.as_ref().err().map(|error| Withheld::NoInterval {
            message: error.to_string(),
        }),
        rounds_to_settle: result.rounds_to_settle,
        rounds_to_equivalence: result.rounds_to_equivalence,
        interval: result.interval.ok(),
        printed_interval: result.printed_interval,
        resolution: result.resolution,
        ..comparison
    }
}

/// Values of one metric for an arm and the baseline, by round and pair.
struct RoundValues {
    rounds: BTreeMap<u32, Vec<PairValue>>,
}

/// Ranks of initiator and target, and the values that the pair measured.
type PairValue = ((u32, u32), BoundedPair);

impl RoundValues {
    fn collect(
        plan: &Plan,
        index: &CaseIndex<'_>,
        (scenario, size, arm): ComparisonKey,
        (metric, last_round): (Metric, u32),
    ) -> Self {
        let mut rounds: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        let Some(planned) = plan.scenarios.get(scenario) else {
            return Self { rounds };
        };
        let value = |arm: usize, cases: &CasesOfOneValue<'_>| {
            let moves_payload = plan.moves_payload(planned, arm, size);
            bounded_statistic(&planned.assignment.workload, moves_payload, cases, metric)
        };
        let (first, last) = (
            (scenario, size, arm, 0, (0, 0)),
            (scenario, size, arm, last_round, (u32::MAX, u32::MAX)),
        );
        for ((_, _, _, round, pair), cases) in index.range(first..=last) {
            let baseline = index.get(&(scenario, size, plan.baseline, *round, *pair));
            let baseline = baseline.and_then(|cases| value(plan.baseline, cases));
            let both = value(arm, cases).zip(baseline);
            if let Some((arm, baseline)) = both {
                rounds
                    .entry(*round)
                    .or_default()
                    .push((*pair, BoundedPair { arm, baseline }));
            }
        }
        Self { rounds }
    }

    /// Number of rounds in which a tool printed 0 for the arm or the baseline of a pair.
    fn rounds_below_resolution(&self) -> usize {
        let is_below =
            |(_, pair): &PairValue| pair.arm.is_below_resolution() || pair.baseline.is_below_resolution();
        self.rounds
            .values()
            .filter(|pairs| pairs.iter().any(is_below))
            .count()
    }

    /// Effects of the rounds in which every pair has a ratio.
    fn round_effects(&self) -> Result<RoundEffects, StatsError> {
        if self.rounds_below_resolution() > 0 {
            return Ok(RoundEffects::default());
        }
        let rounds: Vec<Vec<BoundedPair>> = self
            .rounds
            .values()
            .map(|pairs| pairs.iter().map(|(_, pair)| *pair).collect())
            .collect();
        RoundEffects::from_rounds(rounds.iter().map(Vec::as_slice))
    }

    fn pair_effects(&self) -> Vec<PairEffect> {
        let all = || self.rounds.values().flatten();
        let pairs: BTreeSet<(u32, u32)> = all().map(|(pair, _)| *pair).collect();
        let effect = |pair: &(u32, u32)| {
            let own = all().filter(|(other, _)| other == pair);
            let logs: Vec<f64> = own
                .map(|(_, pair)| pair.arm.value.ln() - pair.baseline.value.ln())
                .collect();
            if logs.iter().any(|log| !log.is_finite()) {
                return None;
            }
            signed_rank::estimate(&logs).map(|log_ratio| PairEffect {
                initiator: pair.0,
                target: pair.1,
                percent: percent_change(log_ratio),
            })
        };
        pairs.iter().filter_map(effect).collect()
    }
}
