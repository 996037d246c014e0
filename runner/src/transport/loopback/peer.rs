//! Connected peers and their liveness. Uses system calls.

use crds::record::FailureReason;

use super::segment::PeerSegment;
use crate::transport::TransportError;

/// Liveness of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerState {
    Present,
    /// The peer was gone at the last check. Its last posts and responses may not have been processed yet.
    Gone,
    /// The peer is gone, and its loss has been reported.
    Lost,
}

/// Connected peer.
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

    /// Checks whether the peer is still present, and reports its loss once.
    ///
    /// A peer is lost if it is gone and either posts from this side are unfinished or its process exited without
    /// closing its endpoint. The loss is reported by the second check that finds the peer gone, because the polls
    /// between the two checks process everything that the peer published before it left.
    pub(super) fn check(&mut self, number: usize, has_posts: bool) -> Option<TransportError> {
        let is_closed = self.segment.segment.is_closed();
        let is_gone = is_closed || self.segment.has_exited();
        let crashed = is_gone && !is_closed;
        match self.state {
            PeerState::Present if is_gone => self.state = PeerState::Gone,
            PeerState::Gone if has_posts || crashed => {
                self.state = PeerState::Lost;
                let cause = if is_closed {
                    "closed its endpoint"
                } else {
                    "exited"
                };
                let consequence = if has_posts {
                    "while this side had outstanding posts"
                } else {
                    "without closing its endpoint"
                };
                return Some(TransportError {
                    reason: FailureReason::PeerLost,
                    operation: "poll",
                    message: format!("peer {number} {cause} {consequence}"),
                });
            }
            PeerState::Present | PeerState::Gone | PeerState::Lost => {}
        }
        None
    }
}
