//! Splits the baseline variance into components: windows of one process, processes, and pairs of workers. The split
//! shows what would narrow the intervals. It does not affect verdicts. All flows of the many-to-many pattern share one
//! value, like a single pair.

use std::collections::{BTreeMap, BTreeSet};

use crds::assignment::Pass;
use crds::record::{CaseResult, Measurement};
use serde::Serialize;

use crate::collect::Reports;
use crate::plan::{Plan, Separation};
use crate::summarize::statistic;
use crate::summarize::validity::case_check::CaseCheck;

/// Minimum number of rounds in which a pair must have a value.
const MIN_ROUNDS: usize = 3;

/// Variance components of a scenario's primary metric at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VarianceSplit {
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Standard deviations.
    #[serde(flatten)]
    pub deviations: Deviations,
}

/// Standard deviations of natural logarithms, by variance component.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deviations {
    /// Between the windows of one process; `None` if the run has no control arm in the baseline's process.
    pub between_windows: Option<f64>,
    /// Between processes, excluding the part due to windows; `None` if that part is unknown.
    pub between_processes: Option<f64>,
    /// Between the rounds of a pair, which combines windows and processes.
    pub between_rounds: f64,
    /// Between pairs, excluding the part due to rounds; `None` if there is only one pair.
    pub between_pairs: Option<f64>,
}

/// Scenario, size, whether the arm is the baseline, and the ranks of the pair.
type Key = ((usize, u64, bool), (u32, u32));

/// Logarithms of one arm at one size, by pair and round.
type Values = BTreeMap<(u32, u32), BTreeMap<u32, f64>>;

/// Splits the variance at every size that has at least [`MIN_ROUNDS`] rounds.
///
/// The control arm in the baseline's process differs from the baseline only by its window, so half of the variance of
/// the difference between the two arms is the variance of a window.
pub(in crate::summarize) fn splits(
    plan: &Plan,
    reports: &Reports,
    validities: &[CaseCheck],
) -> Vec<VarianceSplit> {
    let control = plan
        .arms
        .iter()
        .position(|arm| arm.control == Some(Separation::Tuning));
    let mut cases: BTreeMap<Key, BTreeMap<u32, Vec<&Measurement>>> = BTreeMap::new();
    for (case, validity) in reports.cases.iter().zip(validities) {
        let is_used = case.arm == plan.baseline || Some(case.arm) == control;
        let (Pass::Measure, true, true, CaseResult::Measured(measured)) =
            (case.pass, is_used, validity.is_valid(), &case.outcome)
        else {
            continue;
        };
        let cell = (case.scenario, case.size_bytes, case.arm == plan.baseline);
        let pair = plan.ranks_sharing_a_value(case.initiator, case.target);
        let rounds = cases.entry((cell, pair)).or_default();
        rounds.entry(case.round).or_default().push(measured);
    }
    let mut values: BTreeMap<(usize, u64, bool), Values> = BTreeMap::new();
    for ((cell, pair), rounds) in cases {
        let Some(scenario) = plan.scenarios.get(cell.0) else {
            continue;
        };
        for (round, cases) in rounds {
            // The control posts what the baseline posts, over the same channel.
            let moves_payload = plan.moves_payload(scenario, plan.baseline, cell.1);
            let workload = &scenario.assignment.workload;
            let value = statistic(workload, moves_payload, &cases, scenario.primary);
            if let Some(value) = value {
                let pair_values = values.entry(cell).or_default().entry(pair).or_default();
                pair_values.insert(round, value.ln());
            }
        }
    }
    let cells: BTreeSet<(usize, u64)> = values
        .keys()
        .map(|(scenario, size, _)| (*scenario, *size))
        .collect();
    let split = |(scenario, size_bytes): (usize, u64)| {
        let baseline = values.get(&(scenario, size_bytes, true))?;
        let deviations = deviations(baseline, values.get(&(scenario, size_bytes, false)))?;
        Some(VarianceSplit {
            scenario,
            size_bytes,
            deviations,
        })
    };
    cells.into_iter().filter_map(split).collect()
}

fn deviations(baseline: &Values, control: Option<&Values>) -> Option<Deviations> {
    // Pairs with fewer than `MIN_ROUNDS` rounds do not contribute to any component.
    let rounds: Vec<Vec<f64>> = baseline
        .values()
        .map(|pair_rounds| pair_rounds.values().copied().collect())
        .filter(|values: &Vec<f64>| values.len() >= MIN_ROUNDS)
        .collect();
    let round_variance = pooled_variance(&rounds)?;
    let window_variance = control.and_then(|control| {
        let differences = |(pair, baseline_rounds): (&(u32, u32), &BTreeMap<u32, f64>)| {
            let control_rounds = control.get(pair)?;
            let both = baseline_rounds.iter().filter_map(|(round, value)| {
                let other = control_rounds.get(round)?;
                Some(other - value)
            });
            Some(both.collect())
        };
        let differences: Vec<Vec<f64>> = baseline.iter().filter_map(differences).collect();
        Some(pooled_variance(&differences)? / 2.0)
    });
    let means: Vec<f64> = rounds.iter().filter_map(|values| mean(values)).collect();
    // The mean of a pair with n rounds has the variance of the rounds, divided by n.
    let inverse_counts: Vec<f64> = rounds.iter().map(|values| 1.0 / values.len() as f64).collect();
    let mean_variance = round_variance * mean(&inverse_counts)?;
    let pair_variance = variance(&means).map(|variance| (variance - mean_variance).max(0.0));
    Some(Deviations {
        between_windows: window_variance.map(f64::sqrt),
        between_processes: window_variance
            .map(|window_variance| (round_variance - window_variance).max(0.0).sqrt()),
        between_rounds: round_variance.sqrt(),
        between_pairs: pair_variance.map(f64::sqrt),
    })
}

/// Variance within the groups, each about its own mean; `None` if no group has [`MIN_ROUNDS`] values.
fn pooled_variance(groups: &[Vec<f64>]) -> Option<f64> {
    let large = groups.iter().filter(|group| group.len() >= MIN_ROUNDS);
    let (mut sum, mut freedom) = (0.0, 0.0);
    for group in large {
        let degrees = (group.len() - 1) as f64;
        sum += variance(group)? * degrees;
        freedom += degrees;
    }
    (freedom > 0.0).then(|| sum / freedom)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Unbiased variance; `None` if there are fewer than two values.
fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 2)?;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    Some(squares / (values.len() - 1) as f64)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Values of the baseline and the control arm, with the given standard deviations of the effects of windows,
    /// processes and pairs.
    fn simulate(window: f64, process: f64, pair: f64, pairs: u32, rounds: u32) -> (Values, Values) {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        // The sum of 12 uniform values approximates a normal distribution with a standard deviation of 1.
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let (mut baseline, mut control) = (Values::new(), Values::new());
        for target in 1..=pairs {
            let pair_effect = pair * normal();
            for round in 1..=rounds {
                let process_effect = pair_effect + process * normal();
                let add = |values: &mut Values, value: f64| {
                    values.entry((0, target)).or_default().insert(round, value);
                };
                add(&mut baseline, process_effect + window * normal());
                add(&mut control, process_effect + window * normal());
            }
        }
        (baseline, control)
    }

    #[track_caller]
    fn assert_near(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() < 0.15 * expected, "{found} {expected}");
    }

    #[test]
    fn recovers_the_components_of_simulated_noise() {
        let (baseline, control) = simulate(0.02, 0.05, 0.10, 300, 20);
        let found = deviations(&baseline, Some(&control)).unwrap();
        assert_near(found.between_windows, 0.02);
        assert_near(found.between_processes, 0.05);
        assert_near(found.between_pairs, 0.10);
        assert_near(Some(found.between_rounds), 0.02_f64.hypot(0.05));
    }

    #[test]
    fn components_that_cannot_be_separated_are_unknown() {
        let (baseline, _) = simulate(0.02, 0.05, 0.0, 1, 20);
        let found = deviations(&baseline, None).unwrap();
        assert_eq!(
            (
                found.between_windows,
                found.between_processes,
                found.between_pairs
            ),
            (None, None, None)
        );
        let (baseline, control) = simulate(0.02, 0.05, 0.0, 4, 2);
        assert_eq!(deviations(&baseline, Some(&control)), None);
    }

    /// A third of the pairs have only 3 valid rounds, and a third only 1, so their means differ more although the pairs
    /// are equal.
    #[test]
    fn unequal_round_counts_do_not_appear_as_differences_between_pairs() {
        let (mut baseline, control) = simulate(0.02, 0.05, 0.0, 400, 30);
        for (index, rounds) in baseline.values_mut().enumerate() {
            let keep = [30, 3, 1][index % 3];
            rounds.retain(|round, _| *round <= keep);
        }
        let found = deviations(&baseline, Some(&control)).unwrap();
        assert!(found.between_pairs.unwrap() < 0.012, "{found:?}");
    }
}
