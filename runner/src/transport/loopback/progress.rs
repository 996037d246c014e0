//! What a poll does: carries out what peers have posted, collects what they have answered, and looks after them when
//! nothing moves. Touches shared memory; only looking after peers asks the kernel.

use super::inbound::{self, Inbound};
use super::outbound::{self, Outbound};
use super::peer::PeerState;
use super::sink::Sink;
use super::{Loopback, faults};
use crate::transport::Rail;

impl Loopback {
    /// Consumes what peers have posted. Returns whether anything was there.
    #[inline]
    pub(super) fn consume(&mut self, sink: &mut Sink<'_>) -> bool {
        let claimed = self.own.segment.claimed();
        if claimed != self.claimed {
            self.claimed = claimed;
            self.match_claims();
        }
        let mut moved = false;
        let rails = self.rails.len();
        let inbounds = self.inbounds.chunks_exact_mut(rails).take(self.claimed);
        for inbounds in inbounds {
            for (rail, (inbound, state)) in inbounds.iter_mut().zip(&mut self.rails).enumerate() {
                let consumed = inbound.consume(rail, &self.regions, &mut state.receives, sink);
                if consumed != Ok(false) {
                    moved = true;
                    if let Some(peer) = inbound.peer {
                        self.peers[peer].segment.segment.wake();
                    }
                }
                if let Err(fault) = consumed {
                    self.failure = Some(match fault {
                        inbound::Fault::Truncated { message, receive } => {
                            faults::truncated(rail, message, receive)
                        }
                        inbound::Fault::Broken => faults::broken(rail),
                    });
                    return true;
                }
            }
        }
        moved
    }

    /// Collects what is done, and sends on what waits. Returns whether anything was there.
    #[inline]
    pub(super) fn reap(&mut self, sink: &mut Sink<'_>) -> bool {
        let mut moved = false;
        let rails = self.rails.len();
        for (number, (peer, outbounds)) in self
            .peers
            .iter_mut()
            .zip(self.outbounds.chunks_exact_mut(rails))
            .enumerate()
        {
            for (rail, outbound) in outbounds.iter_mut().enumerate() {
                let reaped = outbound.reap(rail, &self.regions, sink);
                moved |= !matches!(reaped, Ok(false));
                if outbound.push(&self.regions) {
                    moved = true;
                    peer.segment.segment.wake();
                }
                if let Err(fault) = reaped {
                    self.failure = Some(match fault {
                        outbound::Fault::Failed(post) => faults::failed(number, rail, &post),
                        outbound::Fault::Broken => {
                            outbound.abandon();
                            peer.state = PeerState::Lost;
                            faults::broken(rail)
                        }
                    });
                    return true;
                }
            }
        }
        moved
    }

    /// Publishes what `more` has held back on a rail.
    pub(super) fn ring_doorbell(&mut self, rail: Rail) {
        let rails = self.rails.len();
        for (peer, outbound) in self.outbounds.iter_mut().skip(rail).step_by(rails).enumerate() {
            if outbound.ring_doorbell(&self.regions) {
                self.peers[peer].segment.segment.wake();
            }
        }
        self.rails[rail].held_back = false;
    }

    /// Finds out which peer fills which ring, so that answers can wake it.
    pub(super) fn match_claims(&mut self) {
        self.claimed = self.own.segment.claimed();
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
            || self.own.segment.claimed() != self.claimed
            || self.claimed_inbounds().iter().any(Inbound::is_ready)
            || self.outbounds.iter().any(Outbound::has_answers)
    }

    pub(super) fn look_after_peers(&mut self) {
        self.idle_polls = 0;
        let rails = self.rails.len();
        for (number, (peer, outbounds)) in self
            .peers
            .iter_mut()
            .zip(self.outbounds.chunks_mut(rails))
            .enumerate()
        {
            let busy = outbounds.iter().any(Outbound::is_busy);
            if let Some(failure) = peer.look_after(number, busy) {
                outbounds.iter_mut().for_each(Outbound::abandon);
                self.failure = Some(failure);
                // One at a time: another is found by the next look.
                return;
            }
        }
    }
}
