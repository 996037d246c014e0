//! The built-in transport: rings in shared memory between processes of one machine, and within one process. Opening
//! and connecting ask the kernel; posting and polling touch shared memory only.
//!
//! It is for tests of everything above the trait and for campaigns that need no library. It behaves as software
//! providers of libfabric do with manual progress: a peer's posts are carried out by this side's polls, each message
//! is copied twice, and every kind of host memory is treated alike. In detail:
//!
//! * On one rail, what one side posts to one peer is carried out in the order of the posts. A send that finds no
//!   posted receive waits for one, and so does all behind it: a reliable connection without an unexpected queue.
//! * A completion says that the peer has carried the post out: a write is in its memory, a send in its receive. An
//!   injected post gives none.
//! * `more` is real: nothing of the rail reaches a peer before a post without it, or before a post is refused with
//!   `Again`, which rings for what is already there.
//! * A peer that has closed its endpoint or whose process has ended is noticed by polls that find nothing, after some
//!   thousand of them, or by waits that time out.
//! * With [`Polling::Wait`] a side sleeps on a word of its own segment that peers change when they publish or answer.
//!   A peer that this side has not connected to cannot be known to this side's answers, nor this side to its; so long as
//!   there is one, a sleep lasts at most a millisecond.

mod faults;
mod inbound;
mod layout;
mod name;
mod open;
mod outbound;
mod peer;
mod progress;
mod receives;
mod region;
mod ring;
mod segment;
mod sink;

use std::sync::Arc;
use std::time::Duration;

use crds::record::{FabricFacts, FailureReason};
use rustix::event::Timespec;
use rustix::io::Errno;

use self::inbound::Inbound;
use self::layout::{INLINE_BYTES, MAX_MESSAGE_BYTES};
use self::name::SegmentName;
use self::open::{facts_of, layout_of};
use self::outbound::{Outbound, Pending};
use self::peer::PeerState;
use self::receives::{Receive, Receives};
pub use self::region::LoopbackRegion;
use self::region::Regions;
use self::ring::Opcode;
use self::segment::{OwnSegment, PeerSegment, random};
use self::sink::Sink;
use super::{
    Completion, EndpointAddresses, OpenConfig, Peer, Post, PostError, Rail, Transport, TransportError,
};
use crate::memory::Memory;

/// Polls without any progress before the peers are looked after: some 100 microseconds of spinning.
const IDLE_POLLS: u32 = 4096;
/// Longest sleep while a peer is not connected back.
const SHORT_SLEEP: Duration = Duration::from_millis(1);

/// Endpoints of the built-in transport, one a rail.
#[derive(Debug)]
pub struct Loopback {
    own: OwnSegment,
    addresses: EndpointAddresses,
    facts: FabricFacts,
    sleeps: bool,
    depth: usize,
    peers: Vec<peer::Peer>,
    /// By peer, then rail.
    outbounds: Vec<Outbound>,
    /// By claim, then rail.
    inbounds: Vec<Inbound>,
    /// Claims that peers have made, as last seen.
    claimed: usize,
    /// By rail.
    rails: Vec<RailState>,
    regions: Regions,
    idle_polls: u32,
    /// Whether the next poll looks at what came in before what is done.
    inbound_first: bool,
    /// Reported by the next poll.
    failure: Option<TransportError>,
}

#[derive(Debug)]
struct RailState {
    receives: Receives,
    /// Whether a post with `more` may be unpublished.
    held_back: bool,
}

impl Transport for Loopback {
    type Region = LoopbackRegion;

    fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        let layout = layout_of(config)?;
        let own = OwnSegment::create(layout, config.sleeps)?;
        let name = own.name();
        let inbounds = (0..layout.peers)
            .flat_map(|claim| (0..layout.rails).map(move |rail| (claim, rail)))
            .map(|(claim, rail)| Inbound::new(own.segment.ring(rail, claim)))
            .collect();
        let rails = (0..layout.rails).map(|_| RailState {
            receives: Receives::new(layout.slots),
            held_back: false,
        });
        Ok(Self {
            addresses: name.addresses(layout.rails),
            facts: facts_of(layout, name),
            sleeps: config.sleeps,
            depth: layout.slots,
            peers: Vec::with_capacity(layout.peers),
            outbounds: Vec::with_capacity(layout.peers * layout.rails),
            inbounds,
            claimed: 0,
            rails: rails.collect(),
            regions: Regions::default(),
            idle_polls: 0,
            inbound_first: true,
            failure: None,
            own,
        })
    }

    fn facts(&self) -> &FabricFacts {
        &self.facts
    }

    fn rails(&self) -> usize {
        self.rails.len()
    }

    fn addresses(&self) -> &EndpointAddresses {
        &self.addresses
    }

    fn connect(&mut self, peer: &EndpointAddresses) -> Result<Peer, TransportError> {
        let refused = |reason, message| TransportError {
            reason,
            operation: "connect",
            message,
        };
        let rails = self.rails.len();
        if peer.rails.len() != rails {
            let message = format!(
                "the peer has {} rails and this side {rails}: both sides must be opened with as many",
                peer.rails.len()
            );
            return Err(refused(FailureReason::Refused, message));
        }
        let name = SegmentName::from_addresses(peer).ok_or_else(|| {
            refused(
                FailureReason::Refused,
                "not the endpoint names of a loopback transport".to_owned(),
            )
        })?;
        let segment = PeerSegment::open(name)?;
        if segment.segment.layout().rails != rails {
            let message = format!("the peer's segment is not one of {rails} rails");
            return Err(refused(FailureReason::Refused, message));
        }
        let claim = segment.claim(self.own.segment.nonce()).ok_or_else(|| {
            let message = format!(
                "the peer was opened for {} peers and has them already",
                segment.segment.layout().peers
            );
            refused(FailureReason::Refused, message)
        })?;
        for rail in 0..rails {
            let ring = segment.segment.ring(rail, claim);
            self.outbounds.push(Outbound::new(ring, self.depth));
        }
        self.peers.push(peer::Peer::new(segment));
        self.match_claims();
        Ok(self.peers.len() - 1)
    }

    fn register(&mut self, memory: Arc<Memory>) -> Result<LoopbackRegion, TransportError> {
        let failed = |reason, message: &str| TransportError {
            reason,
            operation: "register",
            message: message.to_owned(),
        };
        if memory.is_device() {
            let message = "this transport moves bytes with the processor, which cannot reach a GPU's memory: use Heap, \
                           HugePages or SharedMemory";
            return Err(failed(FailureReason::Refused, message));
        }
        let idle = !self.outbounds.iter().any(Outbound::is_busy)
            && self.rails.iter().all(|rail| rail.receives.is_empty())
            && !self.inbounds.iter().any(Inbound::is_receiving);
        if idle {
            self.regions.sweep();
        }
        let random = random().map_err(|error| failed(FailureReason::Internal, &error.to_string()))?;
        let owner = self.own.segment.nonce();
        Ok(self.regions.add(memory, owner, self.rails.len(), random))
    }

    #[inline]
    fn post(&mut self, post: &Post<'_, LoopbackRegion>) -> Result<(), PostError> {
        let refused = |errno: Errno| PostError::Refused(errno.raw_os_error());
        let rails = self.rails.len();
        if post.rail >= rails
            || post.peer >= self.peers.len()
            || post.region.owner() != self.own.segment.nonce()
        {
            return Err(refused(Errno::INVAL));
        }
        let pending = Pending::new(post);
        let Some(bytes) = self.regions.local(pending.region, post.offset, post.length) else {
            return Err(refused(Errno::INVAL));
        };
        if post.length > MAX_MESSAGE_BYTES || (post.inject && post.length > INLINE_BYTES) {
            return Err(refused(Errno::MSGSIZE));
        }
        if post.inject && matches!(pending.opcode, Opcode::Read | Opcode::Write) {
            return Err(refused(Errno::INVAL));
        }
        let peer = &self.peers[post.peer];
        if peer.state == PeerState::Lost {
            return Err(PostError::Failed(Errno::NOTCONN.raw_os_error()));
        }
        let outbound = &mut self.outbounds[post.peer * rails + post.rail];
        match outbound.post(pending, bytes, post.more, &self.regions) {
            Ok(published) => {
                if published {
                    peer.segment.segment.wake();
                }
                if post.more {
                    self.rails[post.rail].held_back = true;
                } else if self.rails[post.rail].held_back {
                    self.ring_doorbell(post.rail);
                }
                Ok(())
            }
            Err(error) => {
                // Posts before it must not wait for a post that cannot be made before they are carried out.
                self.ring_doorbell(post.rail);
                Err(error)
            }
        }
    }

    fn post_receive(
        &mut self,
        rail: Rail,
        region: &LoopbackRegion,
        offset: u64,
        length: u64,
        token: u32,
    ) -> Result<(), PostError> {
        let receive = Receive {
            region: region.index(),
            offset,
            length,
            token,
            message: 0,
        };
        let own = region.owner() == self.own.segment.nonce();
        let inside = self.regions.local(receive.region, offset, length).is_some();
        let state = self.rails.get_mut(rail).filter(|_| own && inside);
        let Some(state) = state else {
            return Err(PostError::Refused(Errno::INVAL.raw_os_error()));
        };
        if !state.receives.push(receive) {
            return Err(PostError::Again);
        }
        let rails = self.rails.len();
        for inbound in self
            .inbounds
            .iter_mut()
            .take(self.claimed * rails)
            .skip(rail)
            .step_by(rails)
        {
            inbound.receive_posted();
        }
        Ok(())
    }

    #[inline]
    fn poll(&mut self, completions: &mut [Completion]) -> Result<usize, TransportError> {
        if self.failure.is_some() {
            return self.failure.take().map_or(Ok(0), Err);
        }
        let mut sink = Sink::new(completions);
        let moved = if self.inbound_first {
            let came = self.consume(&mut sink);
            self.reap(&mut sink) | came
        } else {
            let done = self.reap(&mut sink);
            self.consume(&mut sink) | done
        };
        if sink.is_full() {
            // Whoever came last this time may have found no room.
            self.inbound_first = !self.inbound_first;
        }
        let count = sink.count();
        if moved {
            self.idle_polls = 0;
        } else {
            self.idle_polls += 1;
            if self.idle_polls >= IDLE_POLLS {
                self.look_after_peers();
            }
        }
        if count == 0 && self.failure.is_some() {
            return self.failure.take().map_or(Ok(0), Err);
        }
        Ok(count)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), TransportError> {
        let failed = |reason, message| TransportError {
            reason,
            operation: "wait",
            message,
        };
        if !self.sleeps {
            let message = "the endpoints were opened to be polled only".to_owned();
            return Err(failed(FailureReason::Refused, message));
        }
        self.match_claims();
        let all_known = self
            .claimed_inbounds()
            .iter()
            .all(|inbound| inbound.peer.is_some())
            && self.claimed >= self.peers.len();
        let limit = if all_known {
            timeout
        } else {
            timeout.min(SHORT_SLEEP)
        };
        let limit = Timespec::try_from(limit)
            .map_err(|_| failed(FailureReason::Internal, "the timeout is too long".to_owned()))?;
        let slept = self.own.sleep(limit, || self.is_ready());
        if slept.map_err(|error| failed(FailureReason::Internal, error.to_string()))? {
            self.look_after_peers();
        }
        Ok(())
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.own.close();
    }
}

#[cfg(test)]
mod tests;
