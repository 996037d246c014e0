//! Opens two connected transports in one process, and collects their completions, for transport tests.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "only tests use this module"
)]

use crate::transport::{
    Completion, CompletionKind, OpenConfig, Operation, Post, PostError, Region, RemoteKey, Transport,
    TransportError,
};
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

/// Size of each side's memory in bytes.
pub const LENGTH: usize = 1 << 20;
/// Maximum time that a test waits for a condition.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Transport with registered memory of [`LENGTH`] bytes.
pub struct Side<T: Transport> {
    pub transport: T,
    pub region: T::Region,
}

impl<T: Transport> Side<T> {
    fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        let mut transport = T::open(config)?;
        let region = transport.allocate(LENGTH)?;
        Ok(Self { transport, region })
    }

    pub fn fill(&self, offset: usize, bytes: &[u8]) {
        self.region.memory().write_from(offset, bytes).unwrap();
    }

    pub fn bytes(&self, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.region.memory().read_into(offset, &mut bytes).unwrap();
        bytes
    }

    pub fn poll(&mut self) -> Result<Vec<Completion>, TransportError> {
        let empty = Completion {
            rail: 0,
            kind: CompletionKind::RemoteWrite { immediate: u64::MAX },
        };
        let mut completions = [empty; 16];
        let count = self.transport.poll(&mut completions)?;
        Ok(completions[..count].to_vec())
    }

    /// Posts an operation on this side's memory to its only peer.
    pub fn post(&mut self, request: PostRequest) -> Result<(), PostError> {
        self.transport.post(&request.on(&self.region))
    }

    /// Prepares `at_once` posts of an operation on this side's memory to its only peer.
    pub fn prepare(&mut self, request: PostRequest, at_once: u32) -> Result<(), TransportError> {
        self.transport.prepare(&request.on(&self.region), at_once)
    }
}

/// Post without its region and peer.
#[derive(Clone, Copy)]
pub struct PostRequest {
    pub rail: usize,
    pub operation: Operation,
    pub offset: u64,
    pub length: u64,
    pub inject: bool,
    pub more: bool,
    pub token: u32,
}

impl PostRequest {
    /// The post on `region` to the only peer.
    fn on<R>(self, region: &R) -> Post<'_, R> {
        let Self {
            rail,
            operation,
            offset,
            length,
            inject,
            more,
            token,
        } = self;
        Post {
            rail,
            peer: 0,
            operation,
            region,
            offset,
            length,
            inject,
            more,
            token,
        }
    }

    pub fn new(operation: Operation, length: u64) -> Self {
        Self {
            rail: 0,
            operation,
            offset: 0,
            length,
            inject: false,
            more: false,
            token: 0,
        }
    }
}

/// Two connected transports in one process.
pub struct Pair<T: Transport> {
    pub initiator: Side<T>,
    pub target: Side<T>,
    /// The initiator's keys for the target's memory, by rail.
    keys: Vec<RemoteKey>,
    /// Completions that arrived while a post was waiting for queue space.
    early: Vec<(Completion, bool)>,
    /// Lock that is held while the pair exists. Declared last, so that it is released after the endpoints are closed.
    _lock: Option<MutexGuard<'static, ()>>,
}

impl<T: Transport> Pair<T> {
    pub fn open(config: &OpenConfig, lock: Option<MutexGuard<'static, ()>>) -> Result<Self, TransportError> {
        let (mut initiator, mut target) = (Side::<T>::open(config)?, Side::<T>::open(config)?);
        let initiator_addresses = initiator.transport.addresses().clone();
        let target_addresses = target.transport.addresses().clone();
        // On one side, `connect` may return only after the other side also connects.
        let (peer, connected) = std::thread::scope(|scope| {
            let other = scope.spawn(|| target.transport.connect(&initiator_addresses));
            let peer = initiator.transport.connect(&target_addresses);
            (peer, other.join().unwrap())
        });
        let (peer, _) = (peer?, connected?);
        let keys = initiator.transport.import(peer, &target.region.remote())?;
        Ok(Self {
            initiator,
            target,
            keys,
            early: Vec::new(),
            _lock: lock,
        })
    }

    pub fn remote(&self, rail: usize) -> RemoteKey {
        self.keys[rail]
    }

    /// Posts from the initiator, and retries while the queue is full.
    pub fn post(&mut self, request: PostRequest) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match self.initiator.post(request) {
                Ok(()) => return,
                Err(PostError::Again) => assert!(Instant::now() < deadline, "the queue is still full"),
                Err(other) => panic!("{other:?}"),
            }
            let both = self.poll().unwrap();
            self.early.extend(both);
            std::thread::yield_now();
        }
    }

    /// Polls both sides. Returns each completion with a flag that is true if it is from the initiator.
    pub fn poll(&mut self) -> Result<Vec<(Completion, bool)>, TransportError> {
        let mut both = std::mem::take(&mut self.early);
        both.extend(
            self.initiator
                .poll()?
                .into_iter()
                .map(|completion| (completion, true)),
        );
        both.extend(
            self.target
                .poll()?
                .into_iter()
                .map(|completion| (completion, false)),
        );
        Ok(both)
    }

    /// Polls both sides until `done` returns true for the completions collected so far.
    pub fn poll_until(&mut self, done: impl Fn(&ObservedCompletions) -> bool) -> ObservedCompletions {
        let mut observed = ObservedCompletions::default();
        self.retry_until_some(|pair| {
            for (completion, at_initiator) in pair.poll().unwrap() {
                let side = if at_initiator {
                    &mut observed.initiator
                } else {
                    &mut observed.target
                };
                side.push(completion.kind);
            }
            done(&observed).then_some(())
        });
        observed
    }

    /// Repeats `step` until it returns a value.
    pub fn retry_until_some<V>(&mut self, mut step: impl FnMut(&mut Self) -> Option<V>) -> V {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(value) = step(self) {
                return value;
            }
            assert!(Instant::now() < deadline, "no result within {TIMEOUT:?}");
            std::thread::yield_now();
        }
    }
}

/// Completions of both sides, in order of arrival.
#[derive(Debug, Default)]
pub struct ObservedCompletions {
    pub initiator: Vec<CompletionKind>,
    pub target: Vec<CompletionKind>,
}

/// Byte pattern in which adjacent bytes differ.
pub fn pattern(length: usize, seed: u8) -> Vec<u8> {
    (0..length)
        .map(|i| {
            (i as u8)
                .wrapping_mul(31)
                .wrapping_add(seed)
                .wrapping_add((i >> 8) as u8)
        })
        .collect()
}
