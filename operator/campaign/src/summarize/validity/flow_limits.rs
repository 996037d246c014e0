//! Limit on the combined rate of one worker's flows. The flows of the many-to-many pattern that leave a worker, or
//! arrive at it, share its links. The sum of their rates therefore cannot exceed the line rate of these links, even if
//! no single flow exceeds it.

use std::collections::{BTreeMap, BTreeSet};

use crds::assignment::Pass;
use crds::record::{CaseResult, FabricFacts, LINE_RATE_TOLERANCE, Posted};

use super::case_check::{CaseCheck, Invalid};
use crate::collect::{Case, Reports};
use crate::summarize::workers::endpoints::EndpointIndex;

/// Leg, attempt, block and arm: the key of flows that ran concurrently.
type FlowsKey = (u32, u32, u32, usize);

/// A measured flow.
struct Flow<'a> {
    case: &'a Case,
    /// Index of the case.
    index: usize,
    posted: &'a Posted,
}

/// Marks the flows of every worker whose flows together exceed its line rate as invalid.
pub(super) fn check(reports: &Reports, endpoints: &EndpointIndex<'_>, checks: &mut [CaseCheck]) {
    let mut groups: BTreeMap<FlowsKey, Vec<Flow<'_>>> = BTreeMap::new();
    for (index, case) in reports.cases.iter().enumerate() {
        if let CaseResult::Measured(measured) = &case.outcome
            && case.pass == Pass::Measure
            && let Some(posted) = &measured.initiator.posted
        {
            let key = (case.leg, case.attempt, case.block, case.arm);
            groups.entry(key).or_default().push(Flow { case, index, posted });
        }
    }
    for flows in groups.values() {
        let ranks: BTreeSet<u32> = flows.iter().flat_map(Flow::ranks).collect();
        for rank in ranks {
            let own: Vec<&Flow<'_>> = flows.iter().filter(|flow| flow.ranks().contains(&rank)).collect();
            let facts = own
                .iter()
                .find_map(|flow| endpoints.facts_of_case(flow.case, rank));
            let Some(invalid) = facts.and_then(|facts| exceeded_limit(rank, facts, &own)) else {
                continue;
            };
            for flow in own {
                if let Some(check) = checks.get_mut(flow.index) {
                    check.invalid.push(invalid.clone());
                }
            }
        }
    }
}

impl Flow<'_> {
    fn ranks(&self) -> [u32; 2] {
        [self.case.initiator, self.case.target]
    }
}

/// The violated limit, if `flows`, the flows of worker `rank`, together exceed the line rate of the links that carried
/// them. `None` if the line rate is unknown.
fn exceeded_limit(rank: u32, facts: &FabricFacts, flows: &[&Flow<'_>]) -> Option<Invalid> {
    let mut bytes_per_rail = Vec::new();
    for flow in flows {
        let flow_bytes = &flow.posted.counters.bytes_per_rail;
        bytes_per_rail.resize(bytes_per_rail.len().max(flow_bytes.len()), 0_u64);
        for (sum, bytes) in bytes_per_rail.iter_mut().zip(flow_bytes) {
            *sum = sum.saturating_add(*bytes);
        }
    }
    let line = facts.line_rate_of_used_rails(&bytes_per_rail)? as f64;
    let rates = flows.iter().filter_map(|flow| flow.posted.payload_rate());
    let rate = rates.sum::<f64>() * 8.0;
    (rate > line * (1.0 + LINE_RATE_TOLERANCE)).then_some(Invalid::FlowsAboveLineRate {
        rank,
        flows: flows.len() as u64,
        measured_bits_per_second: rate as u64,
        line_bits_per_second: line as u64,
    })
}

#[cfg(test)]
mod tests {

    use crds::record::{PostingCounters, RailFacts, Simultaneous};

    use super::*;
    use crate::summarize::values::flows::tests::flow_case;

    const GBIT: u64 = 1_000_000_000;
    /// Two flows that violate no limit.
    const NONE: [Vec<u32>; 2] = [Vec::new(), Vec::new()];

    fn case(block: u32, ranks: (u32, u32), bits_per_second: u64) -> Case {
        let posted = Posted {
            simultaneous: Some(Simultaneous {
                payload_bytes: bits_per_second / 8,
                elapsed_nanos: 1_000_000_000,
                ..Simultaneous::default()
            }),
            counters: PostingCounters {
                bytes_per_rail: vec![bits_per_second / 8],
                ..PostingCounters::default()
            },
            ..Posted::default()
        };
        flow_case(block, 1, ranks, posted)
    }

    fn link(gbit: u64) -> FabricFacts {
        FabricFacts {
            rails: vec![RailFacts {
                pci: Some("0000:00:06.0".to_owned()),
                interface: Some("eth0".to_owned()),
                line_bits_per_second: (gbit > 0).then_some(gbit * GBIT),
                ..RailFacts::default()
            }],
            ..FabricFacts::default()
        }
    }

    /// The ranks whose limit each case violates. `links` contains the line rate of each rank in Gbit/s.
    fn violated_limits(cases: Vec<Case>, links: [u64; 4]) -> Vec<Vec<u32>> {
        let reports = Reports {
            cases,
            ..Reports::default()
        };
        let facts = links.map(link);
        let ranks = facts.iter().enumerate();
        let endpoints = EndpointIndex::for_arm_0(ranks.map(|(rank, facts)| (rank as u32, 1, facts)));
        let mut checks = vec![CaseCheck::default(); reports.cases.len()];
        check(&reports, &endpoints, &mut checks);
        let rank = |invalid: &Invalid| match invalid {
            Invalid::FlowsAboveLineRate { rank, .. } => *rank,
            other => panic!("{other}"),
        };
        let ranks = |check: &CaseCheck| check.invalid.iter().map(rank).collect();
        checks.iter().map(ranks).collect()
    }

    #[test]
    fn flows_into_one_receiver_share_its_line_rate() {
        let flows = |gbit: u64| vec![case(1, (0, 3), gbit * GBIT), case(1, (1, 3), 5 * GBIT)];
        assert_eq!(violated_limits(flows(5), [100, 100, 100, 10]), NONE);
        assert_eq!(violated_limits(flows(6), [100, 100, 100, 10]), [vec![3], vec![3]]);
        // The receiver's rate is unknown.
        assert_eq!(violated_limits(flows(6), [100, 100, 100, 0]), NONE);
        // Other blocks ran at another time.
        let blocks = vec![case(1, (0, 3), 6 * GBIT), case(2, (1, 3), 5 * GBIT)];
        assert_eq!(violated_limits(blocks, [100, 100, 100, 10]), NONE);
    }

    #[test]
    fn flows_out_of_one_sender_share_its_line_rate() {
        let flows = vec![
            case(1, (0, 2), 6 * GBIT),
            case(1, (0, 3), 6 * GBIT),
            case(1, (1, 2), GBIT),
            case(1, (1, 3), GBIT),
        ];
        let sender_limits = violated_limits(flows, [10, 10, 100, 100]);
        assert_eq!(sender_limits, [vec![0], vec![0], vec![], vec![]]);
    }

    #[test]
    fn the_message_names_the_worker_and_both_rates() {
        let own = [case(1, (0, 3), 6 * GBIT), case(1, (1, 3), 5 * GBIT)];
        let flows: Vec<Flow<'_>> = own
            .iter()
            .map(|case| match &case.outcome {
                CaseResult::Measured(measured) => Flow {
                    case,
                    index: 0,
                    posted: measured.initiator.posted.as_ref().unwrap(),
                },
                _ => panic!("{case:?}"),
            })
            .collect();
        let flows: Vec<&Flow<'_>> = flows.iter().collect();
        assert_eq!(
            exceeded_limit(3, &link(10), &flows).unwrap().to_string(),
            "the payload rates of the 2 flows of rank 3 add up to 11000000000 bit/s, which exceeds its line rate of \
             10000000000 bit/s"
        );
    }
}
