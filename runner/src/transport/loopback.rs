//! The built-in transport: rings in shared memory between processes on one machine, or within one process. Opening and
//! connecting use system calls. Posting and polling access only shared memory, except to wake a sleeping peer and to
//! check whether a peer still exists.
//!
//! It is used by campaigns that run without a fabric library, and by tests of code that is generic over the transport.
//! It behaves like a libfabric software provider with manual progress: each side executes its peers' posts when it
//! polls, each message is copied twice, and all kinds of host memory are handled identically.
//!
//! * Posts from one side to one peer on one rail are executed in order. A send with no matching posted receive waits
//!   for one and blocks all posts behind it, like a reliable connection without a queue for unexpected messages.
//! * A completion means that the peer has executed the post: a write's data is in the peer's memory, and a send's data
//!   is in the peer's receive buffer. An injected post has no completion.
//! * Posts with `more` are held back until a post without `more` follows on the same rail, or a post on that rail
//!   returns `Again`; either event rings the doorbell.
//! * After several thousand polls without progress, or after a wait that times out, the transport checks whether a peer
//!   has closed its endpoint or its process has exited.
//! * If the polling mode is `Polling::Wait`, a side sleeps on a 32-bit word in its segment, which peers change when
//!   they publish posts or responses. A side can wake only the peers that it has connected to, so each sleep lasts at
//!   most one millisecond while a connection exists in only one direction.

mod completion;
mod error;
mod inbound;
mod memory;
mod open;
mod peer;
mod posting;
mod receive_queue;
mod ring;
mod rules;
mod segment;
mod sink;

use std::sync::Arc;
use std::time::Duration;

use crds::record::{FabricFacts, FailureReason, ProtocolUse};
use crds::v1alpha1::{MemoryKind, TransferOperation};
use rustix::event::Timespec;
use rustix::io::Errno;

use self::inbound::Inbound;
pub use self::memory::LoopbackRegion;
use self::memory::RegionTable;
use self::open::{fabric_facts, segment_layout};
use self::peer::PeerState;
use self::posting::{Outbound, PendingPost};
use self::receive_queue::{Receive, ReceiveQueue};
use self::ring::Opcode;
use self::rules::address::SegmentAddress;
use self::rules::layout::{INLINE_BYTES, MAX_MESSAGE_BYTES};
use self::segment::{OwnSegment, PeerSegment, random};
use self::sink::Sink;
use super::failures::{check_peer_rails, check_region_rails};
use super::{
    Capabilities, Completion, EndpointAddresses, OpenConfig, Peer, Post, PostError, PreparationStats, Rail,
    RemoteKey, RemoteRegion, Transport, TransportError,
};
use crate::memory::Memory;

/// Number of polls without progress after which the peers are checked: about 100 microseconds of spinning.
const IDLE_POLLS: u32 = 4096;
/// Maximum sleep while a connection to a peer exists in only one direction, because one of the two sides cannot wake
/// the other yet.
const MAX_UNCONNECTED_SLEEP: Duration = Duration::from_millis(1);

/// Endpoints of the built-in transport, one per rail.
#[derive(Debug)]
pub struct Loopback {
    own: OwnSegment,
    addresses: EndpointAddresses,
    facts: FabricFacts,
    uses_wait: bool,
    depth: usize,
    peers: Vec<peer::Peer>,
    /// Rings to peers, ordered by peer and then by rail.
    outbounds: Vec<Outbound>,
    /// Rings from peers, ordered by claim and then by rail.
    inbounds: Vec<Inbound>,
    /// Number of peer claims at the last check.
    claimed: usize,
    /// State of each rail.
    rails: Vec<RailState>,
    regions: RegionTable,
    idle_polls: u32,
    /// Whether the next poll handles incoming posts before responses.
    inbound_first: bool,
    /// Failure to be returned by the next poll.
    failure: Option<TransportError>,
}

#[derive(Debug)]
struct RailState {
    receives: ReceiveQueue,
    /// Whether there may be unpublished posts with `more`.
    awaiting_doorbell: bool,
}

impl Transport for Loopback {
    type Region = LoopbackRegion;

    fn load(_config: &OpenConfig) -> Result<(), TransportError> {
        Ok(())
    }

    fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        let layout = segment_layout(config)?;
        let own = OwnSegment::create(layout, config.uses_wait)?;
        let address = own.address();
        let inbounds = (0..layout.peers)
            .flat_map(|claim| (0..layout.rails).map(move |rail| (claim, rail)))
            .map(|(claim, rail)| Inbound::new(own.segment.ring(rail, claim)))
            .collect();
        let rails = (0..layout.rails).map(|_| RailState {
            receives: ReceiveQueue::new(layout.slots),
            awaiting_doorbell: false,
        });
        Ok(Self {
            addresses: address.endpoint_addresses(layout.rails),
            facts: fabric_facts(layout, address),
            uses_wait: config.uses_wait,
            depth: layout.slots,
            peers: Vec::with_capacity(layout.peers),
            outbounds: Vec::with_capacity(layout.peers * layout.rails),
            inbounds,
            claimed: 0,
            rails: rails.collect(),
            regions: RegionTable::default(),
            idle_polls: 0,
            inbound_first: true,
            failure: None,
            own,
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::BUILT_IN
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
        check_peer_rails("connect", peer, rails)?;
        let address = SegmentAddress::from_addresses(peer).ok_or_else(|| {
            refused(
                FailureReason::OperationRejected,
                "the peer's endpoint names are not loopback endpoint names".to_owned(),
            )
        })?;
        let segment = PeerSegment::open(address)?;
        if segment.segment.layout().rails != rails {
            let message = format!("the peer's segment does not have {rails} rails");
            return Err(refused(FailureReason::OperationRejected, message));
        }
        let claim = segment.claim(self.own.segment.nonce()).ok_or_else(|| {
            let message = format!(
                "the peer was opened for {} peers, all of which have already connected",
                segment.segment.layout().peers
            );
            refused(FailureReason::OperationRejected, message)
        })?;
        for rail in 0..rails {
            let ring = segment.segment.ring(rail, claim);
            self.outbounds.push(Outbound::new(ring, self.depth));
        }
        self.peers.push(peer::Peer::new(segment));
        self.update_claimants();
        Ok(self.peers.len() - 1)
    }

    fn import(&mut self, _peer: Peer, region: &RemoteRegion) -> Result<Vec<RemoteKey>, TransportError> {
        check_region_rails("import", region, self.rails.len())?;
        region.rails.iter().map(RemoteKey::try_from).collect()
    }

    fn check_operation(&self, _peer: Peer, _operation: TransferOperation) -> Result<(), TransportError> {
        Ok(())
    }

    fn allocate(&mut self, bytes: usize) -> Result<LoopbackRegion, TransportError> {
        self.register(Memory::allocate(MemoryKind::Heap, bytes)?)
    }

    fn prepare(&mut self, _post: &Post<'_, LoopbackRegion>, _at_once: u32) -> Result<(), TransportError> {
        Ok(())
    }

    fn preparation_stats(&self) -> Option<PreparationStats> {
        None
    }

    fn register(&mut self, memory: Arc<Memory>) -> Result<LoopbackRegion, TransportError> {
        let failed = |reason, message: &str| TransportError {
            reason,
            operation: "register",
            message: message.to_owned(),
        };
        if memory.is_device() {
            let message = "this transport copies with the CPU, which cannot access GPU memory: use Heap, HugePages or \
                           SharedMemory";
            return Err(failed(FailureReason::OperationRejected, message));
        }
        let idle = !self.outbounds.iter().any(Outbound::is_busy)
            && self.rails.iter().all(|rail| rail.receives.is_empty())
            && !self.inbounds.iter().any(Inbound::is_receiving);
        if idle {
            self.regions.remove_dropped();
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
        let pending = PendingPost::new(post);
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
                    self.rails[post.rail].awaiting_doorbell = true;
                } else if self.rails[post.rail].awaiting_doorbell {
                    self.ring_doorbell(post.rail);
                }
                Ok(())
            }
            Err(error) => {
                // A retry can succeed only after earlier posts have been executed, so they must be published now.
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
        let is_own = region.owner() == self.own.segment.nonce();
        let is_inside = self.regions.local(receive.region, offset, length).is_some();
        let state = self.rails.get_mut(rail).filter(|_| is_own && is_inside);
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
            inbound.resume();
        }
        Ok(())
    }

    fn post_flush(&mut self, _peer: Peer) -> Result<(), PostError> {
        Err(PostError::Refused(Errno::OPNOTSUPP.raw_os_error()))
    }

    fn flushes_in_flight(&self) -> u32 {
        0
    }

    #[inline]
    fn poll(&mut self, completions: &mut [Completion]) -> Result<usize, TransportError> {
        if self.failure.is_some() {
            return self.failure.take().map_or(Ok(0), Err);
        }
        let mut sink = Sink::new(completions);
        let progressed = if self.inbound_first {
            let consumed = self.consume(&mut sink);
            self.reap(&mut sink) | consumed
        } else {
            let reaped = self.reap(&mut sink);
            self.consume(&mut sink) | reaped
        };
        if sink.is_full() {
            // The order alternates, because the direction that was handled last may have had no room for its
            // completions.
            self.inbound_first = !self.inbound_first;
        }
        let count = sink.count();
        if progressed {
            self.idle_polls = 0;
        } else {
            self.idle_polls += 1;
            if self.idle_polls >= IDLE_POLLS {
                self.check_peers();
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
        if !self.uses_wait {
            let message = "the endpoints were opened for polling only".to_owned();
            return Err(failed(FailureReason::OperationRejected, message));
        }
        self.update_claimants();
        let all_connected = self
            .claimed_inbounds()
            .iter()
            .all(|inbound| inbound.peer.is_some())
            && self.claimed >= self.peers.len();
        let limit = if all_connected {
            timeout
        } else {
            timeout.min(MAX_UNCONNECTED_SLEEP)
        };
        let limit = Timespec::try_from(limit)
            .map_err(|_| failed(FailureReason::Internal, "the timeout is too long".to_owned()))?;
        let timed_out = self.own.sleep(limit, || self.is_ready());
        if timed_out.map_err(|error| failed(FailureReason::Internal, error.to_string()))? {
            self.check_peers();
        }
        Ok(())
    }

    fn close(self) -> Vec<ProtocolUse> {
        Vec::new()
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.own.close();
    }
}

#[cfg(test)]
mod tests;
