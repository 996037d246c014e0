//! Computes the deviation of each pair of nodes from the others, which helps to find a bad node or cable. It does not
//! affect verdicts.

use std::collections::BTreeMap;

use crds::assignment::Pass;
use crds::record::CaseResult;
use crds::v1alpha1::Metric;
use serde::Serialize;

use crate::collect::Reports;
use crate::plan::Plan;
use crate::stats::BetterDirection;
use crate::stats::median_of;
use crate::summarize::statistic;
use crate::summarize::validity::case_check::CaseCheck;

/// Minimum number of pairs for which deviations are computed: with only two pairs, neither can be identified as the
/// outlier.
pub const MIN_PAIRS: usize = 3;

/// Deviation of one pair of nodes from the median pair, for the baseline on the primary metric of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PairDeviation {
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Node of the initiator.
    pub initiator: String,
    /// Node of the target.
    pub target: String,
    /// Natural logarithm of the ratio of the pair's median over its rounds to the median over all pairs.
    pub log_ratio: f64,
}

/// Deviation of one node from the others, on the primary metrics of all scenarios.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeDeviation {
    /// Name of the node.
    pub node: String,
    /// Median of [`PairDeviation::log_ratio`] over the node's pairs, scenarios and sizes. The sign is inverted for
    /// metrics for which higher is better, such as throughput, so a positive value means that the node is worse.
    pub worse_log_ratio: f64,
}

/// Nodes of initiator and target.
type Pair<'a> = (&'a str, &'a str);

/// Deviations of all pairs if there are at least [`MIN_PAIRS`], largest first.
///
/// Pairs are identified by their nodes, because a rank may run on different nodes in different legs.
pub(in crate::summarize) fn pairs(
    plan: &Plan,
    reports: &Reports,
    validities: &[CaseCheck],
) -> Vec<PairDeviation> {
    let nodes = reports.nodes();
    let mut values: BTreeMap<(usize, u64), BTreeMap<Pair<'_>, Vec<f64>>> = BTreeMap::new();
    for (case, validity) in reports.cases.iter().zip(validities) {
        let is_used = case.pass == Pass::Measure && case.arm == plan.baseline && validity.is_valid();
        let CaseResult::Measured(measured) = &case.outcome else {
            continue;
        };
        let node = |rank| nodes.get(&(case.leg, case.attempt, rank)).copied();
        let pair = node(case.initiator).zip(node(case.target));
        let (true, Some(pair), Some(planned)) = (is_used, pair, plan.scenarios.get(case.scenario)) else {
            continue;
        };
        let moves_payload = plan.moves_payload(planned, case.arm, case.size_bytes);
        let value = statistic(
            &planned.assignment.workload,
            moves_payload,
            &[measured],
            planned.primary,
        );
        let cell_values = values.entry((case.scenario, case.size_bytes)).or_default();
        cell_values.entry(pair).or_default().extend(value);
    }
    let mut all: Vec<PairDeviation> = values.into_iter().flat_map(deviations).collect();
    all.sort_by(|one, other| other.log_ratio.abs().total_cmp(&one.log_ratio.abs()));
    all
}

/// Computes the deviation of every node in `pairs`, worst first. `primary` contains the primary metrics of the
/// scenarios.
///
/// The median is taken over all pairs of a node, not only over those that deviate most: for a good node, the latter
/// would be only its pairs with a bad node.
pub(in crate::summarize) fn node_deviations(
    primary: &[Metric],
    pairs: &[PairDeviation],
) -> Vec<NodeDeviation> {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for pair in pairs {
        let Some(metric) = primary.get(pair.scenario) else {
            continue;
        };
        let worse = match BetterDirection::from(*metric) {
            BetterDirection::LowerIsBetter => pair.log_ratio,
            BetterDirection::HigherIsBetter => -pair.log_ratio,
        };
        for node in [&pair.initiator, &pair.target] {
            values.entry(node).or_default().push(worse);
        }
    }
    let node_deviation = |(node, mut values): (&str, Vec<f64>)| {
        Some(NodeDeviation {
            node: node.to_owned(),
            worse_log_ratio: median_of(&mut values)?,
        })
    };
    let mut all: Vec<NodeDeviation> = values.into_iter().filter_map(node_deviation).collect();
    all.sort_by(|one, other| other.worse_log_ratio.total_cmp(&one.worse_log_ratio));
    all
}

fn deviations(
    ((scenario, size_bytes), pairs): ((usize, u64), BTreeMap<Pair<'_>, Vec<f64>>),
) -> Vec<PairDeviation> {
    let pair_median = |(pair, mut values): (_, Vec<f64>)| Some((pair, median_of(&mut values)?));
    let medians: Vec<(Pair<'_>, f64)> = pairs.into_iter().filter_map(pair_median).collect();
    let mut values: Vec<f64> = medians.iter().map(|(_, median)| *median).collect();
    let Some(typical) = median_of(&mut values).filter(|_| medians.len() >= MIN_PAIRS) else {
        return Vec::new();
    };
    let deviation = |((initiator, target), median): (Pair<'_>, f64)| PairDeviation {
        scenario,
        size_bytes,
        initiator: initiator.to_owned(),
        target: target.to_owned(),
        log_ratio: median.ln() - typical.ln(),
    };
    medians.into_iter().map(deviation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_require_at_least_three_pairs() {
        let mut pairs: BTreeMap<Pair<'_>, Vec<f64>> = [
            (("a", "b"), vec![10.0, 90.0, 11.0]),
            (("b", "a"), vec![10.0, 12.0]),
        ]
        .into();
        assert_eq!(deviations(((0, 64), pairs.clone())), []);
        pairs.insert(("a", "c"), vec![22.0]);
        let found = deviations(((1, 64), pairs));
        let ratios: Vec<(&str, &str, f64)> = found
            .iter()
            .map(|pair| {
                (
                    pair.initiator.as_str(),
                    pair.target.as_str(),
                    pair.log_ratio.exp(),
                )
            })
            .collect();
        for ((initiator, target, ratio), expected) in
            ratios
                .iter()
                .zip([("a", "b", 1.0), ("a", "c", 2.0), ("b", "a", 1.0)])
        {
            assert_eq!((*initiator, *target), (expected.0, expected.1));
            assert!((ratio - expected.2).abs() < 1e-12, "{ratio}");
        }
        assert_eq!(ratios.len(), 3);
        assert_eq!(found[0].scenario, 1);
    }

    #[test]
    fn bad_node_does_not_affect_the_deviation_of_the_others() {
        let nodes = ["a", "b", "c", "x"];
        let mut pairs = Vec::new();
        for (index, one) in nodes.iter().enumerate() {
            for other in &nodes[index + 1..] {
                pairs.push(PairDeviation {
                    scenario: 0,
                    size_bytes: 64,
                    initiator: (*one).to_owned(),
                    target: (*other).to_owned(),
                    log_ratio: if *other == "x" { 0.5 } else { 0.0 },
                });
            }
        }
        let found = node_deviations(&[Metric::LatencyP50], &pairs);
        let found: Vec<(&str, f64)> = found
            .iter()
            .map(|node| (node.node.as_str(), node.worse_log_ratio))
            .collect();
        assert_eq!(found, [("x", 0.5), ("a", 0.0), ("b", 0.0), ("c", 0.0)]);
    }
}
