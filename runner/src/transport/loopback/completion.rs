//! Performs the steps of a poll: executes posts from peers, collects their responses, and checks the peers when there
//! is no progress. Accesses shared memory; only waking and checking peers uses system calls.

use super::inbound::{self, Inbound};
use super::peer::PeerState;
use super::posting::{self, Outbound};
use super::sink::Sink;
use super::{Loopback, error};
use crate::transport::Rail;

impl Loopback {
    /// Executes posts from peers. Returns whether any post was executed.
    #[inline]
    pub(super) fn consume(&mut self, sink: &mut Sink<'_>) -> bool {
        let claimed = self.own.segment.claimed_rings();
        if claimed != self.claimed {
            self.claimed = claimed;
            self.update_claimants();
        }
        let mut progressed = false;
        let rails = self.rails.len();
        let inbounds = self.inbounds.chunks_exact_mut(rails).take(self.claimed);
        for inbounds in inbounds {
            for (rail, (inbound, state)) in inbounds.iter_mut().zip(&mut self.rails).enumerate() {
                let consumed = inbound.consume(rail, &self.regions, &mut state.receives, sink);
                if consumed != Ok(false) {
                    progressed = true;
                    if let Some(peer) = inbound.peer {
                        self.peers[peer].segment.segment.wake();
                    }
                }
                if let Err(fault) = consumed {
                    self.failure = Some(match fault {
                        inbound::Fault::Truncated { message, receive } => {
                            error::truncated(rail, message, receive)
                        }
                        inbound::Fault::Corrupt => error::corrupt_ring(rail),
                    });
                    return true;
                }
            }
        }
        progressed
    }

    /// Collects responses from peers, and sends queued posts. Returns whether there was progress.
    #[inline]
    pub(super) fn reap(&mut self, sink: &mut Sink<'_>) -> bool {
        let mut progressed = false;
        let rails = self.rails.len();
        for (number, (peer, outbounds)) in self
            .peers
            .iter_mut()
            .zip(self.outbounds.chunks_exact_mut(rails))
            .enumerate()
        {
            for (rail, outbound) in outbounds.iter_mut().enumerate() {
                let reaped = outbound.reap(rail, &self.regions, sink);
                progressed |= !matches!(reaped, Ok(false));
                if outbound.send_queued(&self.regions) {
                    progressed = true;
                    peer.segment.segment.wake();
                }
                if let Err(fault) = reaped {
                    self.failure = Some(match fault {
                        posting::Fault::Failed(post) => error::post_failed(number, rail, &post),
                        posting::Fault::Corrupt => {
                            outbound.abandon();
                            peer.state = PeerState::Lost;
                            error::corrupt_ring(rail)
                        }
                    });
                    return true;
                }
            }
        }
        progressed
    }

    /// Publishes the posts on `rail` that were deferred because of `more`.
    pub(super) fn ring_doorbell(&mut self, rail: Rail) {
        let rails = self.rails.len();
        for (peer, outbound) in self.outbounds.iter_mut().skip(rail).step_by(rails).enumerate() {
            if outbound.ring_doorbell(&self.regions) {
                self.peers[peer].segment.segment.wake();
            }
        }
        self.rails[rail].awaiting_doorbell = false;
    }

    /// Determines which peer claimed which ring, so that this side can wake that peer when it publishes responses.
    pub(super) fn update_claimants(&mut self) {
        self.claimed = self.own.segment.claimed_rings();
        let rails = self.rails.len();
        for (claim, inbounds) in self.inbounds.chunks_mut(rails).take(self.claimed).enumerate() {
            if inbounds.iter().any(|inbound| inbound.peer.is_none()) {
                let nonce = self.own.segment.claimant(claim);
                let peer = self
                    .peers
                    .iter()
                    .position(|peer| Some(peer.segment.segment.nonce()) == nonce);
                inbounds.iter_mut().for_each(|inbound| inbound.peer = peer);
            }
        }
    }

    pub(super) fn claimed_inbounds(&self) -> &[Inbound] {
        let claimed = self.claimed * self.rails.len();
        self.inbounds.get(..claimed).unwrap_or_default()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.failure.is_some()
            || self.own.segment.claimed_rings() != self.claimed
            || self.claimed_inbounds().iter().any(Inbound::is_ready)
            || self.outbounds.iter().any(Outbound::has_responses)
    }

    pub(super) fn check_peers(&mut self) {
        self.idle_polls = 0;
        let rails = self.rails.len();
        for (number, (peer, outbounds)) in self
            .peers
            .iter_mut()
            .zip(self.outbounds.chunks_mut(rails))
            .enumerate()
        {
            let has_posts = outbounds.iter().any(Outbound::is_busy);
            if let Some(failure) = peer.check(number, has_posts) {
                outbounds.iter_mut().for_each(Outbound::abandon);
                self.failure = Some(failure);
                // A poll reports only one failure. The next check reports the next lost peer.
                return;
            }
        }
    }
}
