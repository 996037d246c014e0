//! Bytes that each side of a case must send and receive, by rail.

use crds::assignment::Workload;
use crds::v1alpha1::{Direction, TransferOperation};

use crate::collect::{Measured, Side};

/// Bytes by rail.
#[derive(Debug, Default, Clone)]
pub(super) struct Need {
    sent: Vec<u64>,
    received: Vec<u64>,
}

impl Need {
    pub(super) fn sent_on(&self, rails: &[u32]) -> u64 {
        on(&self.sent, rails)
    }

    pub(super) fn received_on(&self, rails: &[u32]) -> u64 {
        on(&self.received, rails)
    }
}

fn on(bytes: &[u64], rails: &[u32]) -> u64 {
    let of = |rail: &u32| bytes.get(*rail as usize).copied().unwrap_or_default();
    rails.iter().map(of).sum()
}

fn posted(side: &Side) -> Vec<u64> {
    let posted = side.posted.as_ref();
    posted.map_or_else(Vec::new, |posted| posted.counters.bytes_per_rail.clone())
}

/// Returns the needs of initiator and target. The echo of a ping-pong is as long as its message. A read moves the bytes
/// to the side that posts it.
pub(super) fn needs(workload: &Workload, measured: &Measured) -> (Need, Need) {
    let forth = posted(&measured.initiator);
    let (forth, back) = match workload {
        Workload::PingPong(_) => {
            let echo = Some(posted(&measured.target)).filter(|echo| !echo.is_empty());
            (forth.clone(), echo.unwrap_or(forth))
        }
        Workload::Transfer(transfer) => {
            let back = match transfer.direction {
                Direction::Bidirectional => posted(&measured.target),
                Direction::Unidirectional => Vec::new(),
            };
            match transfer.operation {
                TransferOperation::Read => (back, forth),
                TransferOperation::Send | TransferOperation::Write | TransferOperation::WriteImmediate => {
                    (forth, back)
                }
            }
        }
    };
    let initiator = Need {
        sent: forth.clone(),
        received: back.clone(),
    };
    let target = Need {
        sent: back,
        received: forth,
    };
    (initiator, target)
}
