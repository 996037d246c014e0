//! Splits the variance of the baseline into its levels: windows of one process, processes, and pairs of workers. Shows what
//! would narrow the intervals. It does not affect verdicts.

use std::collections::{BTreeMap, BTreeSet};

use crds::assignment::Pass;
use serde::Serialize;

use super::{CaseCheck, statistic};
use crate::collect::{CaseOutcome, Reports};
use crate::plan::{Plan, Separation};

/// Minimum number of rounds with a value of the same pair.
const MIN_ROUNDS: usize = 3;

/// Standard deviations of the primary metric of a scenario at one size, as natural logarithms, by level.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VarianceSplit {
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Between the windows of one process; `None` if the run has no control arm in the process of the baseline.
    pub window: Option<f64>,
    /// Between processes, without the part of the windows; `None` if that part is unknown.
    pub process: Option<f64>,
    /// Between the rounds of a pair: windows and processes together.
    pub round: f64,
    /// Between pairs, without the part of the rounds; `None` with a single pair.
    pub pair: Option<f64>,
}

/// Logarithms of one arm at one size, by pair and round.
type Values = BTreeMap<(u32, u32), BTreeMap<u32, f64>>;

/// Splits the variance at every size that has at least [`MIN_ROUNDS`] rounds.
///
/// The control arm in the process of the baseline differs from it only by its window, so half of the variance of their
/// difference is the variance of a window.
pub(super) fn splits(plan: &Plan, reports: &Reports, validities: &[CaseCheck]) -> Vec<VarianceSplit> {
    let control = plan
        .arms
        .iter()
        .position(|arm| arm.control == Some(Separation::Tuning));
    let mut values: BTreeMap<(usize, u64, bool), Values> = BTreeMap::new();
    for (case, validity) in reports.cases.iter().zip(validities) {
        let is_used = case.arm == plan.baseline || Some(case.arm) == control;
        let (Pass::Measure, true, true, CaseOutcome::Measured(measured)) =
            (case.pass, is_used, validity.is_valid(), &case.outcome)
        else {
            continue;
        };
        let scenario = plan.scenarios.get(case.scenario);
        let value = scenario
            .and_then(|scenario| statistic(&scenario.assignment.workload, measured, scenario.primary));
        if let Some(value) = value {
            let key = (case.scenario, case.size_bytes, case.arm == plan.baseline);
            let pair = (case.initiator, case.target);
            let of_pair = values.entry(key).or_default().entry(pair).or_default();
            of_pair.insert(case.round, value.ln());
        }
    }
    let cells: BTreeSet<(usize, u64)> = values
        .keys()
        .map(|(scenario, size, _)| (*scenario, *size))
        .collect();
    let split = |(scenario, size_bytes): (usize, u64)| {
        let baseline = values.get(&(scenario, size_bytes, true))?;
        split(baseline, values.get(&(scenario, size_bytes, false))).map(|split| VarianceSplit {
            scenario,
            size_bytes,
            ..split
        })
    };
    cells.into_iter().filter_map(split).collect()
}

fn split(baseline: &Values, control: Option<&Values>) -> Option<VarianceSplit> {
    let rounds: Vec<Vec<f64>> = baseline
        .values()
        .map(|of_pair| of_pair.values().copied().collect())
        .collect();
    let round = pooled_variance(&rounds)?;
    let window = control.and_then(|control| {
        let differences = |(pair, of_baseline): (&(u32, u32), &BTreeMap<u32, f64>)| {
            let of_control = control.get(pair)?;
            let both = of_baseline.iter().filter_map(|(round, value)| {
                let other = of_control.get(round)?;
                Some(other - value)
            });
            Some(both.collect())
        };
        let differences: Vec<Vec<f64>> = baseline.iter().filter_map(differences).collect();
        Some(pooled_variance(&differences)? / 2.0)
    });
    let means: Vec<f64> = rounds.iter().filter_map(|values| mean(values)).collect();
    let per_pair = rounds.iter().map(Vec::len).sum::<usize>() as f64 / rounds.len().max(1) as f64;
    let pair = variance(&means).map(|variance| (variance - round / per_pair).max(0.0));
    Some(VarianceSplit {
        scenario: 0,
        size_bytes: 0,
        window: window.map(f64::sqrt),
        process: window.map(|window| (round - window).max(0.0).sqrt()),
        round: round.sqrt(),
        pair: pair.map(f64::sqrt),
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

/// Unbiased variance; `None` with fewer than two values.
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

    /// Values with the given standard deviations of windows, processes and pairs, for the baseline and the control arm.
    fn simulate(window: f64, process: f64, pair: f64, pairs: u32, rounds: u32) -> (Values, Values) {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        // The sum of 12 uniform values approximates a normal distribution with a standard deviation of 1.
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let (mut baseline, mut control) = (Values::new(), Values::new());
        for target in 1..=pairs {
            let of_pair = pair * normal();
            for round in 1..=rounds {
                let of_process = of_pair + process * normal();
                let add = |values: &mut Values, value: f64| {
                    values.entry((0, target)).or_default().insert(round, value);
                };
                add(&mut baseline, of_process + window * normal());
                add(&mut control, of_process + window * normal());
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
    fn recovers_the_levels_of_simulated_noise() {
        let (baseline, control) = simulate(0.02, 0.05, 0.10, 300, 20);
        let found = split(&baseline, Some(&control)).unwrap();
        assert_near(found.window, 0.02);
        assert_near(found.process, 0.05);
        assert_near(found.pair, 0.10);
        assert_near(Some(found.round), 0.02_f64.hypot(0.05));
    }

    #[test]
    fn levels_that_cannot_be_separated_are_unknown() {
        let (baseline, _) = simulate(0.02, 0.05, 0.0, 1, 20);
        let found = split(&baseline, None).unwrap();
        assert_eq!((found.window, found.process, found.pair), (None, None, None));
        let (baseline, control) = simulate(0.02, 0.05, 0.0, 4, 2);
        assert_eq!(split(&baseline, Some(&control)), None);
    }
}
