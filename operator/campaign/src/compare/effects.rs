//! Estimates the effect of every arm in every scenario, at every size, on every metric. Performs no I/O.

use std::collections::{BTreeMap, BTreeSet};

use crds::v1alpha1::Metric;
use serde::Serialize;

use super::case_index::{CaseIndex, CasesOfOneValue};
use super::{Comparison, Effect, Withheld};
use crate::plan::{Plan, Role};
use crate::stats::signed_rank;
use crate::stats::{BetterDirection, Margin, Pair, StatsError, compare_paired, percent_change, round_effect};
use crate::stopping::{ComparisonKey, Stopping};
use crate::summarize::{METRICS, statistic};

/// Effect measured by one pair of workers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PairEffect {
    /// Rank of the initiator.
    pub initiator: u32,
    /// Rank of the target.
    pub target: u32,
    /// Hodges-Lehmann estimate over the pair's rounds, as a percentage change from the baseline.
    pub percent: f64,
}

/// Estimates every comparison of `plan`, with the verdict that follows from its interval alone. The `withhold` module
/// then removes the verdicts that must not be reported.
pub(super) fn estimate(
    plan: &Plan,
    index: &CaseIndex<'_>,
    stopping: &Stopping,
) -> Result<Vec<Comparison>, StatsError> {
    let margin = Margin::from_percent(f64::from(plan.sampling.margin_percent))?;
    let controls = plan.family(plan.controls)?;
    // Before its first analysis, a run with several analyses has no intervals.
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
                    let mut result = compare_paired(&effects, &family, margin, BetterDirection::from(metric));
                    if let Some(first) = first_analysis {
                        result.await_analysis(first);
                    }
                    let cell = plan.cell(scenario, *size_bytes, arm);
                    let role = cell.and_then(|cell| cell.role).unwrap_or(Role::Variant);
                    let primary = metric == planned.primary;
                    all.push(Comparison {
                        scenario,
                        size_bytes: *size_bytes,
                        arm,
                        metric,
                        primary,
                        role,
                        rounds: result.rounds,
                        ended: stopping.early_end(key),
                        effect: result.estimate.map(Effect::new),
                        minimum_detectable_percent: result.minimum_detectable_effect.map(percent_change),
                        verdict: Some(result.verdict),
                        reason: result.interval.as_ref().err().map(|error| Withheld::NoInterval {
                            message: error.to_string(),
                        }),
                        rounds_to_settle: result.rounds_to_settle,
                        interval: result.interval.ok(),
                        control_interval: (primary && role.is_control() && first_analysis.is_none())
                            .then(|| signed_rank::interval(&effects, controls.level()))
                            .flatten(),
                        round_percents: if primary {
                            effects.iter().map(|effect| percent_change(*effect)).collect()
                        } else {
                            Vec::new()
                        },
                        pairs: match plan.many_to_many {
                            Some(_) => Vec::new(),
                            None => values.pair_effects(),
                        },
                    });
                }
            }
        }
    }
    Ok(all)
}

/// Values of one metric for an arm and the baseline, by round and pair.
struct RoundValues {
    rounds: BTreeMap<u32, Vec<PairValue>>,
}

/// Ranks of initiator and target, and the values that the pair measured.
type PairValue = ((u32, u32), Pair);

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
            statistic(&planned.assignment.workload, moves_payload, cases, metric)
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
                    .push((*pair, Pair { arm, baseline }));
            }
        }
        Self { rounds }
    }

    fn round_effects(&self) -> Result<Vec<f64>, StatsError> {
        let effect = |pairs: &Vec<PairValue>| {
            let pairs: Vec<Pair> = pairs.iter().map(|(_, pair)| *pair).collect();
            round_effect(&pairs).transpose()
        };
        self.rounds.values().filter_map(effect).collect()
    }

    fn pair_effects(&self) -> Vec<PairEffect> {
        let all = || self.rounds.values().flatten();
        let pairs: BTreeSet<(u32, u32)> = all().map(|(pair, _)| *pair).collect();
        let effect = |pair: &(u32, u32)| {
            let own = all().filter(|(other, _)| other == pair);
            let logs: Vec<f64> = own
                .map(|(_, value)| value.arm.ln() - value.baseline.ln())
                .collect();
            signed_rank::estimate(&logs).map(|log_ratio| PairEffect {
                initiator: pair.0,
                target: pair.1,
                percent: percent_change(log_ratio),
            })
        };
        pairs.iter().filter_map(effect).collect()
    }
}
