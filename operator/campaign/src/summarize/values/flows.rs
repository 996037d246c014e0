//! Flow rates of the many-to-many pattern, while all flows are active.

use std::collections::BTreeMap;

use crds::record::Measurement;
use serde::Serialize;

use crate::collect::Case;
use crate::stats::median_of;

/// Rates of the flows of one arm at one size. All values are medians over the valid rounds. Rates are in payload bytes
/// per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlowsSummary {
    /// Rate of each flow, by sender and then by receiver.
    pub flows: Vec<FlowRate>,
    /// Rate of each receiver, which is the sum over its flows, in receiver order.
    pub receivers: Vec<ReceiverRate>,
    /// Fairness: Jain's index over the flows of a round (Jain, Chiu and Hawe, 1984), from 1/n if one of n flows
    /// accounts for the entire rate to 1 if all flows have the same rate.
    pub fairness: f64,
}

/// Rate of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlowRate {
    /// Sender rank.
    pub sender: u32,
    /// Receiver rank.
    pub receiver: u32,
    /// Payload bytes per second.
    pub bytes_per_second: f64,
}

/// Rate of one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceiverRate {
    /// Receiver rank.
    pub receiver: u32,
    /// Payload bytes per second.
    pub bytes_per_second: f64,
}

impl FlowsSummary {
    /// Rates of the flows in ascending order.
    pub fn sorted_rates(&self) -> Vec<f64> {
        let mut rates: Vec<f64> = self.flows.iter().map(|flow| flow.bytes_per_second).collect();
        rates.sort_by(f64::total_cmp);
        rates
    }

    /// Smallest and largest rate of a receiver.
    pub fn receiver_range(&self) -> Option<(f64, f64)> {
        let rates = || self.receivers.iter().map(|receiver| receiver.bytes_per_second);
        Some((rates().min_by(f64::total_cmp)?, rates().max_by(f64::total_cmp)?))
    }
}

/// Summarizes `valid`, the valid cases of an arm at one size. `None` if there is no valid round.
pub(super) fn flows<'a>(valid: impl Iterator<Item = (&'a Case, &'a Measurement)>) -> Option<FlowsSummary> {
    let mut rounds: BTreeMap<u32, BTreeMap<(u32, u32), f64>> = BTreeMap::new();
    for (case, measured) in valid {
        // The transfers are unidirectional, so only the initiator posts.
        let rate = measured.initiator.posted.as_ref()?.payload_rate()?;
        let round_rates = rounds.entry(case.round).or_default();
        round_rates.insert((case.initiator, case.target), rate);
    }
    let mut by_flow: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    let mut by_receiver: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let mut fairness = Vec::new();
    for rates in rounds.values() {
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        for (flow, rate) in rates {
            by_flow.entry(*flow).or_default().push(*rate);
            *sums.entry(flow.1).or_default() += rate;
        }
        for (receiver, sum) in sums {
            by_receiver.entry(receiver).or_default().push(sum);
        }
        fairness.push(fairness_index(rates.values().copied()));
    }
    let flow = |((sender, receiver), mut rates): ((u32, u32), Vec<f64>)| {
        Some(FlowRate {
            sender,
            receiver,
            bytes_per_second: median_of(&mut rates)?,
        })
    };
    let receiver = |(receiver, mut rates): (u32, Vec<f64>)| {
        Some(ReceiverRate {
            receiver,
            bytes_per_second: median_of(&mut rates)?,
        })
    };
    Some(FlowsSummary {
        flows: by_flow.into_iter().filter_map(flow).collect(),
        receivers: by_receiver.into_iter().filter_map(receiver).collect(),
        fairness: median_of(&mut fairness)?,
    })
}

/// Jain's fairness index of `rates`, which are above 0: the square of their sum, divided by their number and by the sum
/// of their squares (R. Jain, D. Chiu and W. Hawe: A Quantitative Measure of Fairness and Discrimination for Resource
/// Allocation in Shared Computer Systems, DEC Research Report TR-301, 1984).
fn fairness_index(rates: impl Iterator<Item = f64> + Clone) -> f64 {
    let sum: f64 = rates.clone().sum();
    let squares: f64 = rates.clone().map(|rate| rate * rate).sum();
    sum * sum / (rates.count() as f64 * squares)
}

#[cfg(test)]
pub(in crate::summarize) mod tests {

    use crds::record::{CaseResult, Posted, SideReport, Simultaneous};

    use super::*;
    use crate::fixture::failed_case;

    /// A measured case of one flow, whose initiator posted `posted`.
    pub fn flow_case(block: u32, round: u32, (initiator, target): (u32, u32), posted: Posted) -> Case {
        let initiator_side = SideReport {
            posted: Some(posted),
            ..SideReport::default()
        };
        Case {
            block,
            round,
            initiator,
            target,
            outcome: CaseResult::Measured(Box::new(Measurement {
                initiator: initiator_side,
                target: SideReport::default(),
            })),
            ..failed_case()
        }
    }

    fn case(round: u32, ranks: (u32, u32), payload_bytes: u64) -> Case {
        let posted = Posted {
            // The transfers before and after the window are not counted.
            payload_bytes: 100 * payload_bytes,
            elapsed_nanos: 2_000_000_000,
            simultaneous: Some(Simultaneous {
                payload_bytes,
                elapsed_nanos: 1_000_000_000,
                ..Simultaneous::default()
            }),
            ..Posted::default()
        };
        flow_case(round, round, ranks, posted)
    }

    fn summary(cases: &[Case]) -> FlowsSummary {
        let measured = |case: &'_ Case| match &case.outcome {
            CaseResult::Measured(measured) => measured.as_ref().clone(),
            _ => panic!("{case:?}"),
        };
        let all: Vec<(&Case, Measurement)> = cases.iter().map(|case| (case, measured(case))).collect();
        flows(all.iter().map(|(case, measured)| (*case, measured))).unwrap()
    }

    #[test]
    fn rates_are_medians_over_rounds_and_sums_over_the_flows_of_a_receiver() {
        let mut cases = Vec::new();
        for (round, factor) in [(1, 1), (2, 10), (3, 2)] {
            cases.push(case(round, (0, 2), 100 * factor));
            cases.push(case(round, (1, 2), 300 * factor));
            cases.push(case(round, (0, 3), 50));
            cases.push(case(round, (1, 3), 50));
        }
        let found = summary(&cases);
        let rates: Vec<(u32, u32, f64)> = found
            .flows
            .iter()
            .map(|flow| (flow.sender, flow.receiver, flow.bytes_per_second))
            .collect();
        assert_eq!(rates, [(0, 2, 200.0), (0, 3, 50.0), (1, 2, 600.0), (1, 3, 50.0)]);
        assert_eq!(found.receiver_range(), Some((100.0, 800.0)));
        assert_eq!(found.sorted_rates(), [50.0, 50.0, 200.0, 600.0]);
        // Rounds 1 to 3: 500^2 / (4 * 105,000), 4100^2 / (4 * 10,005,000), 900^2 / (4 * 405,000).
        assert!((found.fairness - 0.5).abs() < 1e-12, "{}", found.fairness);
    }

    #[test]
    fn fairness_is_1_for_equal_rates_and_1_over_n_if_one_flow_dominates() {
        let index = |rates: &[f64]| fairness_index(rates.iter().copied());
        assert_eq!(index(&[7.0; 4]), 1.0);
        assert!((index(&[1.0, 1e-9, 1e-9, 1e-9]) - 0.25).abs() < 1e-6);
        assert!((index(&[1.0, 3.0]) - 0.8).abs() < 1e-12);
    }
}
