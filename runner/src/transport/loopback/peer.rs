//! Peers, and whether they are still there. Asks the kernel.

use crds::record::FailureReason;

use super::segment::PeerSegment;
use crate::transport::TransportError;

/// Whether a peer is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerState {
    Present,
    /// Gone when last looked at; what it did before it went may not have been seen yet.
    Gone,
    /// Gone, and reported.
    Lost,
}

/// A connected peer.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) segment: PeerSegment,
    pub(super) state: PeerState,
}

impl Peer {
    pub(super) fn new(segment: PeerSegment) -> Self {
        Self {
            segment,
            state: PeerState::Present,
        }
    }

    /// Looks whether the peer is there. It is reported as lost, once, when it has left posts of this side undone, or
    /// when its process ended without closing its endpoint; and only by the second look that misses it, with polls in
    /// between that have seen all it ever did.
    pub(super) fn look_after(&mut self, number: usize, busy: bool) -> Option<TransportError> {
        let closed = self.segment.segment.is_closed();
        let gone = closed || self.segment.has_ended();
        let died = gone && !closed;
        match self.state {
            PeerState::Present if gone => self.state = PeerState::Gone,
            PeerState::Gone if busy || died => {
                self.state = PeerState::Lost;
                let how = if closed { "closed its endpoint" } else { "ended" };
                let left = if busy {
                    "with posts of this side undone"
                } else {
                    "without closing its endpoint"
                };
                return Some(TransportError {
                    reason: FailureReason::PeerLost,
                    operation: "poll",
                    message: format!("peer {number} {how} {left}"),
                });
            }
            PeerState::Present | PeerState::Gone | PeerState::Lost => {}
        }
        None
    }
}
