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

mod inbound;
mod layout;
mod name;
mod outbound;
mod peer;
mod receives;
mod region;
mod ring;
mod segment;

use std::sync::Arc;
use std::time::Duration;

use crds::record::{FabricFacts, FailureReason, InjectLimits, RailFacts};
use crds::v1alpha1::{Loopback as LoopbackSpec, Polling, TransportSpec};
use rustix::event::Timespec;
use rustix::io::Errno;

use self::inbound::{Consumed, Inbound};
use self::layout::{INLINE_BYTES, Layout, MAX_PEERS, SLOTS};
use self::name::SegmentName;
use self::outbound::{Done, Outbound, Pending};
use self::peer::PeerState;
use self::receives::{Receive, Receives};
pub use self::region::LoopbackRegion;
use self::region::Regions;
use self::ring::Opcode;
use self::segment::{OwnSegment, PeerSegment, random};
use super::{
    Completion, CompletionKind, EndpointAddresses, OpenConfig, Operation, Peer, Post, PostError, Rail,
    Transport, TransportError,
};
use crate::memory::Memory;

/// Longest message: what a posted length can say in every provider's terms.
const MAX_MESSAGE_BYTES: u64 = u32::MAX as u64;
/// Bits of immediate data that arrive.
const IMMEDIATE: u64 = u32::MAX as u64;
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
    polling: Polling,
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
    injected_writes: u64,
}

/// Room for completions in a poll.
struct Sink<'a> {
    completions: &'a mut [Completion],
    count: usize,
}

impl Sink<'_> {
    #[inline]
    fn is_full(&self) -> bool {
        self.count == self.completions.len()
    }

    #[inline]
    fn push(&mut self, rail: Rail, kind: CompletionKind) {
        if let Some(place) = self.completions.get_mut(self.count) {
            *place = Completion { rail, kind };
            self.count += 1;
        }
    }
}

impl Transport for Loopback {
    type Region = LoopbackRegion;

    fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        let layout = layout_of(config)?;
        let own = OwnSegment::create(layout, config.polling == Polling::Wait)?;
        let name = own.name();
        let inbounds = (0..layout.peers)
            .flat_map(|claim| (0..layout.rails).map(move |rail| (claim, rail)))
            .map(|(claim, rail)| Inbound::new(own.segment.ring(rail, claim)))
            .collect();
        let rails = (0..layout.rails).map(|_| RailState {
            receives: Receives::new(layout.slots),
            held_back: false,
            injected_writes: 0,
        });
        Ok(Self {
            addresses: name.addresses(layout.rails),
            facts: facts_of(layout, name, config.polling),
            polling: config.polling,
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
        let name = SegmentName::of(peer).ok_or_else(|| {
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
        let pending = pending_of(post);
        if self
            .regions
            .local(pending.region, post.offset, post.length)
            .is_none()
        {
            return Err(refused(Errno::INVAL));
        }
        if post.length > MAX_MESSAGE_BYTES || (post.inject && post.length > INLINE_BYTES) {
            return Err(refused(Errno::MSGSIZE));
        }
        if post.inject && pending.opcode == Opcode::Read {
            return Err(refused(Errno::INVAL));
        }
        let peer = &self.peers[post.peer];
        if peer.state == PeerState::Lost {
            return Err(PostError::Failed(Errno::NOTCONN.raw_os_error()));
        }
        let outbound = &mut self.outbounds[post.peer * rails + post.rail];
        match outbound.post(pending, post.more, &self.regions) {
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
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let mut sink = Sink {
            completions,
            count: 0,
        };
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
        let count = sink.count;
        if moved {
            self.idle_polls = 0;
        } else {
            self.idle_polls += 1;
            if self.idle_polls >= IDLE_POLLS {
                self.look_after_peers();
            }
        }
        match self.failure.take() {
            Some(failure) if count == 0 => Err(failure),
            later => {
                self.failure = later;
                Ok(count)
            }
        }
    }

    fn injected_writes_completed(&mut self, rail: Rail) -> Option<u64> {
        self.rails.get(rail).map(|rail| rail.injected_writes)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), TransportError> {
        let failed = |reason, message| TransportError {
            reason,
            operation: "wait",
            message,
        };
        if self.polling != Polling::Wait {
            let message = format!("the endpoints were opened for {:?} polling", self.polling);
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

impl Loopback {
    /// Consumes what peers have posted. Returns whether anything was there.
    #[inline]
    fn consume(&mut self, sink: &mut Sink<'_>) -> bool {
        let claimed = self.own.segment.claimed();
        if claimed != self.claimed {
            self.claimed = claimed;
            self.match_claims();
        }
        let mut moved = false;
        let rails = self.rails.len();
        for claim in 0..self.claimed {
            for rail in 0..rails {
                let inbound = &mut self.inbounds[claim * rails + rail];
                let before = inbound.position();
                while !sink.is_full() && self.failure.is_none() {
                    let consumed = inbound.consume(&self.regions, &mut self.rails[rail].receives);
                    match consumed {
                        Consumed::Nothing => break,
                        Consumed::Completion(kind) => sink.push(rail, kind),
                        Consumed::Truncated { message, receive } => {
                            self.failure = Some(truncated(rail, message, receive));
                        }
                        Consumed::Broken => self.failure = Some(broken(rail)),
                    }
                }
                if inbound.position() != before {
                    moved = true;
                    if let Some(peer) = inbound.peer {
                        self.peers[peer].segment.segment.wake();
                    }
                }
            }
        }
        moved
    }

    /// Collects what is done, and sends on what waits. Returns whether anything was there.
    #[inline]
    fn reap(&mut self, sink: &mut Sink<'_>) -> bool {
        let mut moved = false;
        let rails = self.rails.len();
        for peer in 0..self.peers.len() {
            for rail in 0..rails {
                let outbound = &mut self.outbounds[peer * rails + rail];
                while !sink.is_full() && self.failure.is_none() {
                    match outbound.reap(&self.regions) {
                        Ok(Some(done)) => {
                            moved = true;
                            if done.status != 0 {
                                self.failure = Some(failed(peer, rail, &done));
                            } else if !done.post.inject {
                                let token = done.post.token;
                                sink.push(rail, CompletionKind::Posted { token });
                            } else if done.post.opcode == Opcode::Write {
                                self.rails[rail].injected_writes += 1;
                            }
                        }
                        Ok(None) => break,
                        Err(outbound::Broken) => {
                            outbound.abandon();
                            self.peers[peer].state = PeerState::Lost;
                            self.failure = Some(broken(rail));
                        }
                    }
                }
                if outbound.push(&self.regions) {
                    moved = true;
                    self.peers[peer].segment.segment.wake();
                }
            }
        }
        moved
    }

    /// Publishes what `more` has held back on a rail.
    fn ring_doorbell(&mut self, rail: Rail) {
        let rails = self.rails.len();
        for (peer, outbound) in self.outbounds.iter_mut().skip(rail).step_by(rails).enumerate() {
            if outbound.ring_doorbell(&self.regions) {
                self.peers[peer].segment.segment.wake();
            }
        }
        self.rails[rail].held_back = false;
    }

    /// Finds out which peer fills which ring, so that answers can wake it.
    fn match_claims(&mut self) {
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

    fn claimed_inbounds(&self) -> &[Inbound] {
        let claimed = self.claimed * self.rails.len();
        self.inbounds.get(..claimed).unwrap_or_default()
    }

    fn is_ready(&self) -> bool {
        self.failure.is_some()
            || self.own.segment.claimed() != self.claimed
            || self.claimed_inbounds().iter().any(Inbound::is_ready)
            || self.outbounds.iter().any(Outbound::has_answers)
    }

    fn look_after_peers(&mut self) {
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

impl Drop for Loopback {
    fn drop(&mut self) {
        self.own.close();
    }
}

fn layout_of(config: &OpenConfig) -> Result<Layout, TransportError> {
    let refused = |reason, message| TransportError {
        reason,
        operation: "open",
        message,
    };
    let TransportSpec::Loopback(LoopbackSpec { rails }) = &config.spec else {
        let message = format!("{} was asked for and loopback opened", config.spec.library());
        return Err(refused(FailureReason::Internal, message));
    };
    if let Some(library) = &config.library {
        let message = format!(
            "loopback has no library that could be taken from {}",
            library.display()
        );
        return Err(refused(FailureReason::LibraryAbsent, message));
    }
    if !config.rails.is_empty() {
        let message = format!(
            "loopback has no devices or addresses: {}",
            config.rails.join(", ")
        );
        return Err(refused(FailureReason::NoDevice, message));
    }
    let layout = Layout {
        rails: *rails as usize,
        peers: config.peers.max(1),
        slots: config
            .depth
            .clamp(*SLOTS.start(), *SLOTS.end())
            .next_power_of_two(),
    };
    if !layout.is_valid() || config.depth > *SLOTS.end() {
        let message = format!(
            "{rails} rails, {} peers and {} posts in flight: at most {}, {MAX_PEERS} and {}",
            config.peers,
            config.depth,
            layout::MAX_RAILS,
            SLOTS.end()
        );
        return Err(refused(FailureReason::Refused, message));
    }
    Ok(layout)
}

fn facts_of(layout: Layout, name: SegmentName, polling: Polling) -> FabricFacts {
    let rail = |rail| RailFacts {
        domain: "loopback".to_owned(),
        address: format!("process {} segment {} rail {rail}", name.process, name.descriptor),
        ..RailFacts::default()
    };
    FabricFacts {
        provider: "loopback".to_owned(),
        fabric: "loopback".to_owned(),
        rails: (0..layout.rails).map(rail).collect(),
        inject_limits: InjectLimits {
            send_bytes: INLINE_BYTES,
            write_bytes: INLINE_BYTES,
        },
        transmit_depth: layout.slots as u64,
        max_message_bytes: MAX_MESSAGE_BYTES,
        progress: "manual".to_owned(),
        polling: Some(polling),
        ..FabricFacts::default()
    }
}

#[inline]
fn pending_of(post: &Post<'_, LoopbackRegion>) -> Pending {
    let (opcode, remote, remote_offset, immediate) = match post.operation {
        Operation::Send { immediate } => (Opcode::Send, None, 0, immediate),
        Operation::Write {
            remote,
            remote_offset,
        } => (Opcode::Write, Some(remote), remote_offset, 0),
        Operation::WriteImmediate {
            remote,
            remote_offset,
            immediate,
        } => (Opcode::WriteImmediate, Some(remote), remote_offset, immediate),
        Operation::Read {
            remote,
            remote_offset,
        } => (Opcode::Read, Some(remote), remote_offset, 0),
    };
    let remote = remote.unwrap_or_default();
    Pending {
        opcode,
        token: post.token,
        inject: post.inject,
        region: post.region.index(),
        offset: post.offset,
        length: post.length,
        key: remote.key,
        // The target refuses what lies outside its region, so also the end of all addresses.
        remote: remote.address.saturating_add(remote_offset),
        immediate: immediate & IMMEDIATE,
    }
}

fn completion_error(reason: FailureReason, message: String) -> TransportError {
    TransportError {
        reason,
        operation: "poll",
        message,
    }
}

fn failed(peer: Peer, rail: Rail, done: &Done) -> TransportError {
    let cause = match Errno::from_raw_os_error(done.status) {
        Errno::ACCESS => "the peer has no memory registered under this key and range",
        Errno::MSGSIZE => "it is longer than the receive that the peer has posted",
        _ => "the peer could not carry it out",
    };
    completion_error(
        FailureReason::CompletionFailed,
        format!(
            "{:?} of {} bytes to peer {peer} on rail {rail} (token {}): {cause} (errno {})",
            done.post.opcode, done.post.length, done.post.token, done.status
        ),
    )
}

fn truncated(rail: Rail, message: u64, receive: u64) -> TransportError {
    completion_error(
        FailureReason::CompletionFailed,
        format!("a message of {message} bytes on rail {rail} met a receive of {receive} bytes"),
    )
}

fn broken(rail: Rail) -> TransportError {
    completion_error(
        FailureReason::CompletionFailed,
        format!("a peer wrote into the ring of rail {rail} what no runner of this version writes"),
    )
}

#[cfg(test)]
mod tests;
