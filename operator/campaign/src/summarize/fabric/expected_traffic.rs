//! Bytes that each side of a case must send and receive, by rail.

use crds::assignment::Workload;
use crds::interface_load::InterfaceLoad;
use crds::v1alpha1::{Direction, TransferOperation};

use crate::collect::{Measured, Side};

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

fn posted_bytes_per_rail(side: &Side) -> Vec<u64> {
    let posted = side.posted.as_ref();
    posted.map_or_else(Vec::new, |posted| posted.counters.bytes_per_rail.clone())
}

fn posts_per_rail(side: &Side) -> Vec<u64> {
    let posted = side.posted.as_ref();
    posted.map_or_else(Vec::new, |posted| posted.counters.posts_per_rail.clone())
}

/// Messages of both sides on each rail. The posts of the side that only answers are not always recorded: it answers a
/// message with at most one.
fn messages(workload: &Workload, measured: &Measured) -> Vec<u64> {
    let [posted, answered] = [&measured.initiator, &measured.target].map(posts_per_rail);
    let answers = match workload {
        Workload::PingPong(_) | Workload::Rpc(_) | Workload::MemoryFootprint(_) if answered.is_empty() => {
            posted.clone()
        }
        _ => answered,
    };
    add(posted, &answers)
}

/// Pings of the initiator and their replies.
fn pings(measured: &Measured) -> u64 {
    let posted = measured.initiator.posted.as_ref();
    let ping = posted.and_then(|posted| posted.ping.as_ref());
    ping.map_or(0, |ping| 2 * (ping.idle.count() + ping.loaded.count()))
}

fn add(mut bytes: Vec<u64>, other: &[u64]) -> Vec<u64> {
    bytes.resize(bytes.len().max(other.len()), 0);
    bytes.iter_mut().zip(other).for_each(|(sum, more)| *sum += more);
    bytes
}

/// Returns the traffic expected of the initiator and of the target. The echo of a ping-pong is as long as its message.
/// A read moves the bytes to the side that posts it. If written memory is read back, reads move half of the bytes.
pub(super) fn expected_traffic(
    workload: &Workload,
    measured: &Measured,
) -> (ExpectedTraffic, ExpectedTraffic) {
    let request = posted_bytes_per_rail(&measured.initiator);
    let (request, response) = match workload {
        Workload::PingPong(_) => {
            let echo = Some(posted_bytes_per_rail(&measured.target)).filter(|echo| !echo.is_empty());
            (request.clone(), echo.unwrap_or(request))
        }
        Workload::Transfer(transfer) if transfer.read_back => {
            let one_way: Vec<u64> = request.iter().map(|bytes| bytes / 2).collect();
            (one_way.clone(), one_way)
        }
        // The target's posts are not reported, so the expected traffic does not include replies and nested calls. A
        // command's bytes are in its own report.
        Workload::Rpc(_) | Workload::MemoryFootprint(_) | Workload::Command(_) => (request, Vec::new()),
        // The trainer writes the versions or, in `Pull` mode, the workers read them from its memory.
        Workload::ParameterServing(_) => {
            let read = posted_bytes_per_rail(&measured.target);
            (add(request, &read), Vec::new())
        }
        Workload::Transfer(transfer) => {
            let response = match transfer.direction {
                Direction::Bidirectional => posted_bytes_per_rail(&measured.target),
                Direction::Unidirectional => Vec::new(),
            };
            match transfer.operation {
                TransferOperation::Read => (response, request),
                TransferOperation::Send | TransferOperation::Write | TransferOperation::WriteImmediate => {
                    (request, response)
                }
            }
        }
    };
    // The replies and the nested calls of a sample carry at most the bytes of its own calls.
    let replies = match workload {
        Workload::Rpc(_) | Workload::MemoryFootprint(_) => request.clone(),
        _ => Vec::new(),
    };
    let initiator = ExpectedTraffic {
        sent: request,
        received: response,
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
    use crds::record::PostingCounters;
    use crds::v1alpha1::{SegmentTransfer, SegmentWorkload};

    use super::*;
    use crate::collect::SidePosts;

    #[test]
    fn read_back_transfers_half_of_the_bytes_in_each_direction() {
        let measured = Measured {
            initiator: Side {
                posted: Some(SidePosts {
                    counters: PostingCounters {
                        bytes_per_rail: vec![600, 200],
                        ..PostingCounters::default()
                    },
                    ..SidePosts::default()
                }),
                ..Side::default()
            },
            target: Side::default(),
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
