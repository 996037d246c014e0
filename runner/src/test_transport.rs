//! Transport within one process, for tests of the layers above the `Transport` trait.
//!
//! The transport is deterministic, enforces the contract of the trait, and injects configurable faults. Posts with
//! FI_MORE are delivered together with the next post without FI_MORE on the same rail. Performs no I/O.

mod endpoint;
mod faults;
mod link;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crds::record::{FabricFacts, InjectLimits, ProtocolUse, RailFacts};
use crds::v1alpha1::{Loopback, MemoryKind, TransferOperation, TransportSpec};

use endpoint::{Endpoint, Receive};
pub use faults::Faults;
pub use link::SharedLink;

use crate::immediate::{Immediate, Message};
use crate::memory::Memory;
use crate::transport::conformance::{self, Subject};
use crate::transport::failures::check_region_rails;
use crate::transport::{
    Capabilities, Completion, CompletionKind, EndpointAddresses, OpenConfig, Operation, Peer, Post,
    PostError, PreparationStats, Rail, Region, RemoteKey, RemoteRegion, Transport, TransportError,
};

/// Size of the largest message that can be injected, in bytes.
pub const INJECT_LIMIT: u64 = 128;

/// An accepted payload post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedPost {
    pub rail: Rail,
    pub length: u64,
    pub inject: bool,
    pub more: bool,
    /// Number of receives that are posted on this side, on all rails.
    pub receives: usize,
}

struct PendingPost {
    is_payload: bool,
    peer: Peer,
    operation: Operation,
    memory: Arc<Memory>,
    offset: u64,
    length: u64,
    injected: Option<Vec<u8>>,
    token: u32,
}

pub struct TestTransport {
    pub faults: Faults,
    pub log: Vec<LoggedPost>,
    /// Number of payload bytes posted since this transport was opened.
    pub posted_bytes: Arc<AtomicU64>,
    facts: FabricFacts,
    addresses: EndpointAddresses,
    own: Arc<Mutex<Endpoint>>,
    /// Bytes of the last payload post.
    previous: Vec<u8>,
    /// Bytes of the last read.
    previous_read: Vec<u8>,
    peers: Vec<Arc<Mutex<Endpoint>>>,
    pending: Vec<VecDeque<PendingPost>>,
    in_flight: Vec<Vec<bool>>,
    delayed: VecDeque<(u64, Completion)>,
    /// Completions for payload that a shared link has not transmitted yet.
    queued: VecDeque<Completion>,
    offered: u64,
    delivered: u64,
    polls: u64,
    /// Times at which the flushes in flight complete.
    flushes_due: VecDeque<Instant>,
    again_returned: bool,
}

pub struct TestRegion {
    memory: Arc<Memory>,
    key: u64,
    rails: usize,
}

static ENDPOINTS: Mutex<BTreeMap<u64, Weak<Mutex<Endpoint>>>> = Mutex::new(BTreeMap::new());
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Region for TestRegion {
    fn remote(&self) -> RemoteRegion {
        let key = RemoteKey {
            address: 0,
            key: self.key,
        };
        RemoteRegion {
            rails: vec![key.into(); self.rails],
            length: self.memory.length() as u64,
        }
    }

    fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn registration_method(&self) -> &'static str {
        "none needed"
    }
}

fn bytes_of(memory: &Memory, offset: u64, length: u64) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    memory.read_into(offset as usize, &mut bytes).unwrap();
    bytes
}

fn is_payload(operation: &Operation) -> bool {
    match operation {
        Operation::Send { immediate } => {
            let message = Immediate::decode(*immediate).map(|immediate| immediate.message);
            matches!(message, Some(Message::Data { .. }))
        }
        _ => true,
    }
}

impl TestTransport {
    fn deliver(&mut self, rail: Rail, post: PendingPost) {
        let position = post.is_payload.then_some(self.delivered);
        self.delivered += u64::from(post.is_payload);
        let fate = self.faults.fate(position);
        let sent = || bytes_of(&post.memory, post.offset, post.length);
        let mut bytes = post.injected.clone().unwrap_or_else(sent);
        fate.change(&mut bytes, &self.previous);
        if post.is_payload {
            self.previous.clone_from(&bytes);
        }
        bytes.truncate(fate.delivered(bytes.len()));
        let peer = Arc::clone(&self.peers[post.peer]);
        for _ in 0..fate.times {
            match post.operation {
                Operation::Send { immediate } => {
                    lock(&peer).deliver_message(rail, bytes.clone(), immediate);
                }
                Operation::Write {
                    remote,
                    remote_offset,
                } => lock(&peer).write(remote, remote_offset, &bytes),
                Operation::WriteImmediate {
                    remote,
                    remote_offset,
                    immediate,
                } => {
                    let mut peer = lock(&peer);
                    peer.write(remote, remote_offset, &bytes);
                    let kind = CompletionKind::RemoteWrite { immediate };
                    peer.completions.push_back(Completion { rail, kind });
                }
                Operation::Read {
                    remote,
                    remote_offset,
                } => {
                    let memory = Arc::clone(&lock(&peer).regions[remote.key as usize]);
                    let mut bytes = bytes_of(&memory, remote_offset, post.length);
                    fate.change(&mut bytes, &self.previous_read);
                    self.previous_read.clone_from(&bytes);
                    let delivered = &bytes[..fate.delivered(bytes.len())];
                    post.memory.write_from(post.offset as usize, delivered).unwrap();
                }
            }
        }
        if post.injected.is_none() {
            let kind = CompletionKind::Posted { token: post.token };
            let due = self.polls + self.faults.delay_polls;
            match self.faults.link.is_some() && post.is_payload {
                true => self.queued.push_back(Completion { rail, kind }),
                false => self.delayed.push_back((due, Completion { rail, kind })),
            }
        }
    }
}

impl Transport for TestTransport {
    type Region = TestRegion;

    fn load(_config: &OpenConfig) -> Result<(), TransportError> {
        Ok(())
    }

    fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        let rails = config.spec.rails() as usize;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let own = Arc::new(Mutex::new(Endpoint {
            receives: (0..rails).map(|_| VecDeque::new()).collect(),
            unexpected: (0..rails).map(|_| VecDeque::new()).collect(),
            ..Endpoint::default()
        }));
        lock(&ENDPOINTS).insert(id, Arc::downgrade(&own));
        let rail_facts = |rail| RailFacts {
            domain: "test".to_owned(),
            address: format!("test-{id}-{rail}"),
            ..RailFacts::default()
        };
        Ok(Self {
            faults: Faults::default(),
            log: Vec::new(),
            posted_bytes: Arc::default(),
            previous: Vec::new(),
            previous_read: Vec::new(),
            facts: FabricFacts {
                provider: "test".to_owned(),
                fabric: "test".to_owned(),
                rails: (0..rails).map(rail_facts).collect(),
                inject_limits: InjectLimits {
                    send_bytes: INJECT_LIMIT,
                    write_bytes: INJECT_LIMIT,
                },
                ..FabricFacts::default()
            },
            addresses: EndpointAddresses {
                rails: vec![id.to_le_bytes().to_vec(); rails],
            },
            own,
            peers: Vec::new(),
            pending: (0..rails).map(|_| VecDeque::new()).collect(),
            in_flight: vec![vec![false; config.depth]; rails],
            delayed: VecDeque::new(),
            queued: VecDeque::new(),
            offered: 0,
            delivered: 0,
            polls: 0,
            again_returned: false,
            flushes_due: VecDeque::new(),
        })
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            flush: self.faults.flush_time.is_some(),
            completes_writes_locally: self.faults.completes_writes_locally,
            ..Capabilities::BUILT_IN
        }
    }

    fn facts(&self) -> &FabricFacts {
        &self.facts
    }

    fn rails(&self) -> usize {
        self.pending.len()
    }

    fn addresses(&self) -> &EndpointAddresses {
        &self.addresses
    }

    fn connect(&mut self, peer: &EndpointAddresses) -> Result<Peer, TransportError> {
        let id = u64::from_le_bytes(peer.rails[0].clone().try_into().unwrap());
        let endpoint = lock(&ENDPOINTS)[&id].upgrade().unwrap();
        self.peers.push(endpoint);
        Ok(self.peers.len() - 1)
    }

    fn import(&mut self, _peer: Peer, region: &RemoteRegion) -> Result<Vec<RemoteKey>, TransportError> {
        check_region_rails("import", region, self.rails())?;
        region.rails.iter().map(RemoteKey::try_from).collect()
    }

    fn check_operation(&self, _peer: Peer, _operation: TransferOperation) -> Result<(), TransportError> {
        Ok(())
    }

    fn allocate(&mut self, bytes: usize) -> Result<TestRegion, TransportError> {
        self.register(Memory::allocate(MemoryKind::Heap, bytes)?)
    }

    fn prepare(&mut self, _post: &Post<'_, TestRegion>, _at_once: u32) -> Result<(), TransportError> {
        Ok(())
    }

    fn preparation_stats(&self) -> Option<PreparationStats> {
        None
    }

    fn register(&mut self, memory: Arc<Memory>) -> Result<TestRegion, TransportError> {
        let mut own = lock(&self.own);
        own.regions.push(Arc::clone(&memory));
        Ok(TestRegion {
            memory,
            key: own.regions.len() as u64 - 1,
            rails: self.pending.len(),
        })
    }

    fn post(&mut self, post: &Post<'_, TestRegion>) -> Result<(), PostError> {
        let is_payload = is_payload(&post.operation);
        if is_payload {
            let every = self.faults.again_every;
            if every.is_some_and(|every| self.offered % every == every - 1) && !self.again_returned {
                self.again_returned = true;
                return Err(PostError::Again);
            }
            self.again_returned = false;
            if let Some((_, stall)) = self.faults.stall_at.take_if(|(at, _)| *at == self.offered) {
                std::thread::sleep(stall);
            }
            if self.faults.fail_at == Some(self.offered) {
                return Err(PostError::Failed(5));
            }
        }
        if post.inject && self.faults.refuse_inject {
            return Err(PostError::Refused(38));
        }
        assert!(
            !(post.inject && post.length > INJECT_LIMIT),
            "an injected message exceeds the limit"
        );
        assert!(!(post.inject && post.more), "inject calls take no flags");
        let is_unannounced = matches!(post.operation, Operation::Write { .. } | Operation::Read { .. });
        assert!(
            !(post.inject && is_unannounced),
            "neither side would be notified that the injected post has completed"
        );
        let token = &mut self.in_flight[post.rail][post.token as usize];
        assert!(!*token, "token {} is in use", post.token);
        *token = !post.inject;
        self.offered += u64::from(is_payload);
        if is_payload {
            self.posted_bytes.fetch_add(post.length, Ordering::Relaxed);
            self.log.push(LoggedPost {
                rail: post.rail,
                length: post.length,
                inject: post.inject,
                more: post.more,
                receives: lock(&self.own).receives.iter().map(VecDeque::len).sum(),
            });
        }
        let memory = Arc::clone(&post.region.memory);
        self.pending[post.rail].push_back(PendingPost {
            is_payload,
            peer: post.peer,
            operation: post.operation,
            injected: post.inject.then(|| bytes_of(&memory, post.offset, post.length)),
            memory,
            offset: post.offset,
            length: post.length,
            token: post.token,
        });
        if !post.more {
            while let Some(pending) = self.pending[post.rail].pop_front() {
                self.deliver(post.rail, pending);
            }
        }
        Ok(())
    }

    fn post_receive(
        &mut self,
        rail: Rail,
        region: &TestRegion,
        offset: u64,
        length: u64,
        token: u32,
    ) -> Result<(), PostError> {
        let mut own = lock(&self.own);
        let in_use = own.receives[rail].iter().any(|receive| receive.token == token);
        assert!(!in_use, "receive token {token} is in use");
        own.receives[rail].push_back(Receive {
            memory: Arc::clone(&region.memory),
            offset,
            length,
            token,
        });
        if let Some((bytes, immediate)) = own.unexpected[rail].pop_front() {
            own.deliver_message(rail, bytes, immediate);
        }
        Ok(())
    }

    fn post_flush(&mut self, _: Peer) -> Result<(), PostError> {
        self.flushes_due
            .extend(self.faults.flush_time.map(|time| Instant::now() + time));
        Ok(())
    }

    fn flushes_in_flight(&self) -> u32 {
        self.flushes_due.len() as u32
    }

    fn poll(&mut self, completions: &mut [Completion]) -> Result<usize, TransportError> {
        self.polls += 1;
        if !self.flushes_due.is_empty() {
            let now = Instant::now();
            self.flushes_due.retain(|due| *due > now);
        }
        let mut count = 0;
        if let Some((link, side)) = &self.faults.link
            && lock(link).transmit(*side, self.queued.len())
            && let Some(completion) = self.queued.pop_front()
        {
            self.delayed.push_back((0, completion));
        }
        // Local completions must not starve the other side's messages.
        let reserved = usize::from(!lock(&self.own).completions.is_empty());
        while count + reserved < completions.len()
            && self.delayed.front().is_some_and(|(due, _)| *due <= self.polls)
        {
            let Some((_, completion)) = self.delayed.pop_front() else {
                break;
            };
            if let CompletionKind::Posted { token } = completion.kind {
                self.in_flight[completion.rail][token as usize] = false;
            }
            completions[count] = completion;
            count += 1;
        }
        let mut own = lock(&self.own);
        while count < completions.len() {
            let Some(completion) = own.completions.pop_front() else {
                break;
            };
            completions[count] = completion;
            count += 1;
        }
        if self.faults.reverse {
            completions[..count].reverse();
        }
        Ok(count)
    }

    fn wait(&mut self, _: Duration) -> Result<(), TransportError> {
        std::thread::yield_now();
        Ok(())
    }

    fn close(self) -> Vec<ProtocolUse> {
        Vec::new()
    }
}

crate::transport_conformance!(traffic TestTransport, [subject()]);

fn subject() -> Subject {
    let open = |rails| OpenConfig {
        inject_bytes: Some(64),
        ..conformance::config(TransportSpec::Loopback(Loopback { rails }))
    };
    Subject {
        rails: Some(open(3)),
        ..Subject::new(open(1))
    }
}
