//! Bytes that each side of a case must send and receive, by rail.

use crds::assignment::Workload;
use crds::v1alpha1::{Direction, TransferOperation};

use crate::collect::{Measured, Side};

/// Bytes that a side is expected to send and receive, by rail.
#[derive(Debug, Default, Clone)]
pub(super) struct ExpectedTraffic {
    sent: Vec<u64>,
    received: Vec<u64>,
}

impl ExpectedTraffic {
    pub(super) fn sent_on(&self, rails: &[u32]) -> u64 {
        sum_over_rails(&self.sent, rails)
    }

    pub(super) fn received_on(&self, rails: &[u32]) -> u64 {
        sum_over_rails(&self.received, rails)
    }
}

fn sum_over_rails(bytes: &[u64], rails: &[u32]) -> u64 {
    let bytes_of_rail = |rail: &u32| bytes.get(*rail as usize).copied().unwrap_or_default();
    rails.iter().map(bytes_of_rail).sum()
}

fn posted_bytes_per_rail(side: &Side) -> Vec<u64> {
    let posted = side.posted.as_ref();
    posted.map_or_else(Vec::new, |posted| posted.counters.bytes_per_rail.clone())
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
    let initiator = ExpectedTraffic {
        sent: request.clone(),
        received: response.clone(),
    };
    let target = ExpectedTraffic {
        sent: response,
        received: request,
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
