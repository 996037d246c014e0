//! Opens two connected transports in one process, and collects their completions.

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

/// Size of each side's memory in bytes.
pub(super) const LENGTH: usize = 1 << 20;
/// Maximum number of posts in flight.
pub(super) const DEPTH: usize = 64;
/// Maximum time that a test waits for a condition.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Lock that prevents two libraries in this process from using shm concurrently.
///
/// shm derives the name of an endpoint from the process ID and a counter in the library, so two libraries in one
/// process would use the same names. Only these tests load two libraries.
static SHARED_MEMORY_LOCK: Mutex<()> = Mutex::new(());

/// Provider and library of a test.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub provider: LibfabricProvider,
    pub library: Option<PathBuf>,
    pub rails: Vec<&'static str>,
}

/// Directories of the libraries to test: `None` for the system's libfabric, and the directory of a libfabric 2.x.
pub(super) fn libraries() -> [Option<PathBuf>; 2] {
    let libfabric_2 = std::env::var_os("FABRICBENCH_TEST_LIBFABRIC_2").unwrap_or_else(|| {
        panic!("FABRICBENCH_TEST_LIBFABRIC_2 must name a directory with a libfabric 2.x; .ci/test sets it")
    });
    [None, Some(PathBuf::from(libfabric_2))]
}

/// All setups that every machine supports.
pub(super) fn setups() -> Vec<Setup> {
    let mut setups = Vec::new();
    for library in libraries() {
        let setup = |provider, rails: &[&'static str]| Setup {
            provider,
            library: library.clone(),
            rails: rails.to_vec(),
        };
        setups.push(setup(LibfabricProvider::Tcp, &["127.0.0.1"]));
        setups.push(setup(LibfabricProvider::TcpRxm, &["127.0.0.1"]));
        setups.push(setup(LibfabricProvider::Shm, &[]));
    }
    setups
}

impl Setup {
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
            uses_wait: false,
            device_memory: false,
            location: None,
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
        let empty = Completion {
            rail: 0,
            kind: CompletionKind::RemoteWrite { immediate: u64::MAX },
        };
        let mut completions = [empty; 16];
        let count = self.transport.poll(&mut completions)?;
        Ok(completions[..count].to_vec())
    }

    /// Posts an operation on this side's memory to its only peer.
    pub(super) fn post(&mut self, request: PostRequest) -> Result<(), PostError> {
        let PostRequest {
            rail,
            operation,
            offset,
            length,
            inject,
            more,
            token,
        } = request;
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

/// Post without its region and peer.
#[derive(Clone, Copy)]
pub(super) struct PostRequest {
    pub rail: usize,
    pub operation: Operation,
    pub offset: u64,
    pub length: u64,
    pub inject: bool,
    pub more: bool,
    pub token: u32,
}

impl PostRequest {
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
    /// Completions that arrived while a post was waiting for queue space.
    early: Vec<(Completion, bool)>,
    /// Declared last, so that it is released after the endpoints are closed.
    _shared_memory: Option<MutexGuard<'static, ()>>,
}

impl Pair {
    pub(super) fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        let is_shared_memory =
            matches!(&config.spec, TransportSpec::Libfabric(spec) if spec.provider == LibfabricProvider::Shm);
        let lock =
            is_shared_memory.then(|| SHARED_MEMORY_LOCK.lock().unwrap_or_else(PoisonError::into_inner));
        let (mut initiator, mut target) = (Side::open(config)?, Side::open(config)?);
        initiator.transport.connect(target.transport.addresses())?;
        target.transport.connect(initiator.transport.addresses())?;
        Ok(Self {
            initiator,
            target,
            early: Vec::new(),
            _shared_memory: lock,
        })
    }

    pub(super) fn remote(&self, rail: usize) -> RemoteKey {
        RemoteKey::try_from(&self.target.region.remote().rails[rail]).unwrap()
    }

    /// Posts from the initiator, and retries while the queue is full.
    pub(super) fn post(&mut self, request: PostRequest) {
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

    /// Polls both sides until `done` returns true for the completions collected so far.
    pub(super) fn poll_until(&mut self, done: impl Fn(&Observed) -> bool) -> Observed {
        let mut observed = Observed::default();
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
    pub(super) fn retry_until_some<T>(&mut self, mut step: impl FnMut(&mut Self) -> Option<T>) -> T {
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

/// Completions of both sides in the order of arrival.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub initiator: Vec<CompletionKind>,
    pub target: Vec<CompletionKind>,
}

/// Byte pattern in which adjacent bytes differ.
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
