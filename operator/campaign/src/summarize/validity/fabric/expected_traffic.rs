//! Bytes that each side of a case must send and receive, by rail.

use crds::assignment::Workload;
use crds::interface_load::InterfaceLoad;
use crds::record::{Measurement, SideReport};

use crate::workload::{add, rules};

/// Bytes that a side is expected to send and receive, by rail.
#[derive(Debug, Default, Clone)]
pub(super) struct ExpectedTraffic {
    sent: Vec<u64>,
    received: Vec<u64>,
    /// Bytes of replies that no record contains: at most this number of bytes is sent in addition to `sent`.
    replies_sent: Vec<u64>,
    /// At most this number of bytes is received in addition to `received`.
    replies_received: Vec<u64>,
    /// Messages in both directions.
    messages: Vec<u64>,
    /// Pings and their replies, over any rail.
    pings: u64,
}

impl ExpectedTraffic {
    pub(super) fn sent_on(&self, rails: &[u32]) -> u64 {
        sum_over_rails(&self.sent, rails)
    }

    pub(super) fn received_on(&self, rails: &[u32]) -> u64 {
        sum_over_rails(&self.received, rails)
    }

    /// All traffic that the side may cause within `interval_nanos` on an interface that `rails` use.
    pub(super) fn load_on(&self, rails: &[u32], interval_nanos: u64) -> InterfaceLoad {
        InterfaceLoad {
            sent: self
                .sent_on(rails)
                .saturating_add(sum_over_rails(&self.replies_sent, rails)),
            received: self
                .received_on(rails)
                .saturating_add(sum_over_rails(&self.replies_received, rails)),
            messages: sum_over_rails(&self.messages, rails).saturating_add(self.pings),
            sides: 1,
            interval_nanos,
        }
    }
}

fn sum_over_rails(bytes: &[u64], rails: &[u32]) -> u64 {
    let bytes_of_rail = |rail: &u32| bytes.get(*rail as usize).copied().unwrap_or_default();
    rails.iter().map(bytes_of_rail).fold(0, u64::saturating_add)
}

fn posted_bytes_per_rail(side: &SideReport) -> Vec<u64> {
    let posted = side.posted.as_ref();
    posted.map_or_else(Vec::new, |posted| posted.counters.bytes_per_rail.clone())
}

fn posts_per_rail(side: &SideReport) -> Vec<u64> {
    let posted = side.posted.as_ref();
    posted.map_or_else(Vec::new, |posted| posted.counters.posts_per_rail.clone())
}

/// Messages of both sides on each rail. The posts of the side that only answers are not always recorded: it answers a
/// message with at most one.
fn messages(workload: &Workload, measured: &Measurement) -> Vec<u64> {
    let [posted, answered] = [&measured.initiator, &measured.target].map(posts_per_rail);
    let answers_each = rules(workload).measures_round_trips() || workload.uses_channels();
    let answers = if answers_each && answered.is_empty() {
        posted.clone()
    } else {
        answered
    };
    add(posted, &answers)
}

/// Pings of the initiator and their replies.
fn pings(measured: &Measurement) -> u64 {
    let posted = measured.initiator.posted.as_ref();
    posted.map_or(0, |posted| 2 * posted.pings())
}

/// Returns the traffic expected of the initiator and of the target.
pub(super) fn expected_traffic(
    workload: &Workload,
    measured: &Measurement,
) -> (ExpectedTraffic, ExpectedTraffic) {
    let [posted, answered] = [&measured.initiator, &measured.target].map(posted_bytes_per_rail);
    let [sent, received] = rules(workload).expected_bytes(posted, answered);
    // The replies and the nested calls of a sample are not reported, and carry at most the bytes of its own calls.
    let replies = if workload.uses_channels() {
        sent.clone()
    } else {
        Vec::new()
    };
    let initiator = ExpectedTraffic {
        sent,
        received,
        replies_sent: Vec::new(),
        replies_received: replies,
        messages: messages(workload, measured),
        pings: pings(measured),
    };
    let target = ExpectedTraffic {
        sent: initiator.received.clone(),
        received: initiator.sent.clone(),
        replies_sent: initiator.replies_received.clone(),
        replies_received: Vec::new(),
        ..initiator.clone()
    };
    (initiator, target)
}

#[cfg(test)]
mod tests {
    use crds::assignment::Extent;
    use crds::record::{Posted, PostingCounters};
    use crds::v1alpha1::{SegmentTransfer, SegmentWorkload};

    use super::*;

    #[test]
    fn read_back_transfers_half_of_the_bytes_in_each_direction() {
        let measured = Measurement {
            initiator: SideReport {
                posted: Some(Posted {
                    counters: PostingCounters {
                        bytes_per_rail: vec![600, 200],
                        ..PostingCounters::default()
                    },
                    ..Posted::default()
                }),
                ..SideReport::default()
            },
            target: SideReport::default(),
        };
        let workload_traffic = |workload| {
            let segment = SegmentTransfer {
                workload,
                ..SegmentTransfer::default()
            };
            let (initiator, target) = expected_traffic(&segment.workload(Extent::Iterations(1)), &measured);
            let side_traffic = |side: &ExpectedTraffic| (side.sent_on(&[0, 1]), side.received_on(&[0]));
            (side_traffic(&initiator), side_traffic(&target))
        };
        assert_eq!(workload_traffic(SegmentWorkload::Write), ((800, 0), (0, 600)));
        assert_eq!(workload_traffic(SegmentWorkload::Read), ((0, 600), (800, 0)));
        assert_eq!(workload_traffic(SegmentWorkload::Mix), ((400, 300), (400, 300)));
    }
}
