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
/// A read moves the bytes to the side that posts it.
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
        // The trainer writes the versions or, in mode Pull, the workers read them from its memory.
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
