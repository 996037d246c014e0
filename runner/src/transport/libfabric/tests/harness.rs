//! Two sides of one process, and how to wait for what they do.

use crate::memory::Memory;
use crate::transport::libfabric::{Libfabric, LibfabricRegion};
use crate::transport::{
    Completion, CompletionKind, OpenConfig, Operation, Post, PostError, Region, RemoteKey, Transport,
    TransportError,
};
use crds::v1alpha1::{Libfabric as Spec, LibfabricProvider, MemoryKind, TransportSpec};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of each side's memory.
pub(super) const LENGTH: usize = 1 << 20;
/// Posts in flight.
pub(super) const DEPTH: usize = 64;
/// Longest a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(20);

/// shm names an endpoint by process and a counter of the library, so two libraries in one process, which only tests
/// have, would give two endpoints one name.
static SHARED_MEMORY: Mutex<()> = Mutex::new(());

/// A provider on one of the libraries.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    pub provider: LibfabricProvider,
    pub library: Option<PathBuf>,
    pub rails: Vec<&'static str>,
}

/// Every ground there is on this machine.
pub(super) fn grounds() -> Vec<Ground> {
    let newer = std::env::var_os("FABRICBENCH_TEST_LIBFABRIC_2").unwrap_or_else(|| {
        panic!("FABRICBENCH_TEST_LIBFABRIC_2 must name a folder with a libfabric 2.x; .ci/test sets it")
    });
    let mut grounds = Vec::new();
    for library in [None, Some(PathBuf::from(newer))] {
        let ground = |provider, rails: &[&'static str]| Ground {
            provider,
            library: library.clone(),
            rails: rails.to_vec(),
        };
        grounds.push(ground(LibfabricProvider::Tcp, &["127.0.0.1"]));
        grounds.push(ground(LibfabricProvider::TcpRxm, &["127.0.0.1"]));
        grounds.push(ground(LibfabricProvider::Shm, &[]));
    }
    grounds
}

impl Ground {
    pub(super) fn config(&self) -> OpenConfig {
        let rails = self.rails.len().max(1);
        OpenConfig {
            spec: TransportSpec::Libfabric(Spec {
                provider: self.provider,
                rails: rails.try_into().unwrap(),
            }),
            rails: self.rails.iter().map(|&rail| rail.to_owned()).collect(),
            library: self.library.clone(),
            inject_bytes: Some(64),
            depth: DEPTH,
            sleeps: false,
            device_memory: false,
            peers: 1,
        }
    }

    pub(super) fn pair(&self) -> Pair {
        Pair::open(&self.config()).unwrap_or_else(|e| panic!("{self:?}: {e}"))
    }
}

pub(super) struct Side {
    pub transport: Libfabric,
    pub region: LibfabricRegion,
}

impl Side {
    fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        let mut transport = Libfabric::open(config)?;
        let region = transport.register(Memory::allocate(MemoryKind::Heap, LENGTH).unwrap())?;
        Ok(Self { transport, region })
    }

    pub(super) fn fill(&self, offset: usize, bytes: &[u8]) {
        self.region.memory().write_from(offset, bytes).unwrap();
    }

    pub(super) fn bytes(&self, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.region.memory().read_into(offset, &mut bytes).unwrap();
        bytes
    }

    pub(super) fn poll(&mut self) -> Result<Vec<Completion>, TransportError> {
        let none = Completion {
            rail: 0,
            kind: CompletionKind::RemoteWrite { immediate: u64::MAX },
        };
        let mut completions = [none; 16];
        let count = self.transport.poll(&mut completions)?;
        Ok(completions[..count].to_vec())
    }

    /// Posts from this side's memory, its one peer, the first rail.
    pub(super) fn post(&mut self, post: Wish) -> Result<(), PostError> {
        let Wish {
            rail,
            operation,
            offset,
            length,
            inject,
            more,
            token,
        } = post;
        let region = &self.region;
        self.transport.post(&Post {
            rail,
            peer: 0,
            operation,
            region,
            offset,
            length,
            inject,
            more,
            token,
        })
    }
}

/// A post without its region and peer.
#[derive(Clone, Copy)]
pub(super) struct Wish {
    pub rail: usize,
    pub operation: Operation,
    pub offset: u64,
    pub length: u64,
    pub inject: bool,
    pub more: bool,
    pub token: u32,
}

impl Wish {
    pub(super) fn new(operation: Operation, length: u64) -> Self {
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

pub(super) struct Pair {
    pub initiator: Side,
    pub target: Side,
    /// What came while a post waited for room.
    early: Vec<(Completion, bool)>,
    /// Closed after the endpoints.
    _alone: Option<MutexGuard<'static, ()>>,
}

impl Pair {
    pub(super) fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        let shared =
            matches!(&config.spec, TransportSpec::Libfabric(spec) if spec.provider == LibfabricProvider::Shm);
        let alone = shared.then(|| SHARED_MEMORY.lock().unwrap_or_else(PoisonError::into_inner));
        let (mut initiator, mut target) = (Side::open(config)?, Side::open(config)?);
        initiator.transport.connect(target.transport.addresses())?;
        target.transport.connect(initiator.transport.addresses())?;
        Ok(Self {
            initiator,
            target,
            early: Vec::new(),
            _alone: alone,
        })
    }

    pub(super) fn remote(&self, rail: usize) -> RemoteKey {
        self.target.region.remote().rails[rail]
    }

    /// Posts from the initiator, as often as the queue is full.
    pub(super) fn post(&mut self, wish: Wish) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.initiator.post(wish) {
                Ok(()) => return,
                Err(PostError::Again) => assert!(Instant::now() < deadline, "the queue stays full"),
                Err(other) => panic!("{other:?}"),
            }
            let both = self.poll().unwrap();
            self.early.extend(both);
            std::thread::yield_now();
        }
    }

    /// Lets both sides progress. What came, and whether it came to the initiator.
    pub(super) fn poll(&mut self) -> Result<Vec<(Completion, bool)>, TransportError> {
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

    /// Lets both sides progress until `done` says so of what each has seen.
    pub(super) fn until(&mut self, done: impl Fn(&Seen) -> bool) -> Seen {
        let mut seen = Seen::default();
        self.progress(|pair| {
            for (completion, at_initiator) in pair.poll().unwrap() {
                let side = if at_initiator {
                    &mut seen.initiator
                } else {
                    &mut seen.target
                };
                side.push(completion.kind);
            }
            done(&seen).then_some(())
        });
        seen
    }

    /// Repeats `step` until it answers.
    pub(super) fn progress<T>(&mut self, mut step: impl FnMut(&mut Self) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = step(self) {
                return answer;
            }
            assert!(Instant::now() < deadline, "nothing came in {PATIENCE:?}");
            std::thread::yield_now();
        }
    }
}

/// Completions in the order they came.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub initiator: Vec<CompletionKind>,
    pub target: Vec<CompletionKind>,
}

/// Bytes that differ everywhere.
pub(super) fn pattern(length: usize, seed: u8) -> Vec<u8> {
    (0..length)
        .map(|i| {
            (i as u8)
                .wrapping_mul(31)
                .wrapping_add(seed)
                .wrapping_add((i >> 8) as u8)
        })
        .collect()
}
