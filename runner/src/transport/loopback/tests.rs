//! Tests that the built-in transport conforms to the trait's contract.

use crds::v1alpha1::{Libfabric, LibfabricProvider, Loopback as LoopbackSpec, MemoryKind, TransportSpec};

use super::*;
use crate::transport::conformance::{self, Subject};
use crate::transport::{CompletionKind, Operation, Region, RemoteKey};

mod delivery;
mod errors;
mod posting;
mod waiting;

crate::transport_conformance!(traffic Loopback, [subject()]);

fn subject() -> Subject {
    let open = |rails| OpenConfig {
        inject_bytes: Some(64),
        ..config(rails, 64, false)
    };
    Subject {
        rails: Some(open(3)),
        ..Subject::new(open(1))
    }
}

/// Number of polls within which every event must be reported, including a lost peer.
const MAX_POLLS: usize = 4 * IDLE_POLLS as usize;

fn config(rails: u32, depth: usize, uses_wait: bool) -> OpenConfig {
    OpenConfig {
        depth,
        uses_wait,
        ..conformance::config(TransportSpec::Loopback(LoopbackSpec { rails }))
    }
}

/// Transport with its own memory.
struct Side {
    transport: Loopback,
    memory: Arc<Memory>,
    region: LoopbackRegion,
}

impl Side {
    fn open(config: &OpenConfig, kind: MemoryKind, bytes: usize) -> Self {
        let mut transport = Loopback::open(config).unwrap();
        let memory = Memory::allocate(kind, bytes).unwrap();
        let region = transport.register(Arc::clone(&memory)).unwrap();
        Self {
            transport,
            memory,
            region,
        }
    }

    fn key(&self) -> RemoteKey {
        RemoteKey::try_from(&self.region.remote().rails[0]).unwrap()
    }

    fn post(&mut self, post: impl FnOnce(&mut Post<'_, LoopbackRegion>)) -> Result<(), PostError> {
        let mut value = Post {
            rail: 0,
            peer: 0,
            operation: Operation::Send { immediate: 0 },
            region: &self.region,
            offset: 0,
            length: 0,
            inject: false,
            more: false,
            token: 0,
        };
        post(&mut value);
        self.transport.post(&value)
    }

    fn receive(&mut self, rail: Rail, offset: u64, length: u64, token: u32) {
        self.transport
            .post_receive(rail, &self.region, offset, length, token)
            .unwrap();
    }

    /// Polls once and returns the completions.
    fn poll(&mut self) -> Vec<CompletionKind> {
        let mut room = [EMPTY; 8];
        let count = self.transport.poll(&mut room).unwrap();
        room[..count].iter().map(|completion| completion.kind).collect()
    }

    fn bytes(&self, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory.read_into(offset, &mut bytes).unwrap();
        bytes
    }
}

const EMPTY: Completion = Completion {
    rail: 0,
    kind: CompletionKind::RemoteWrite { immediate: 0 },
};

fn connect(one: &mut Side, two: &mut Side) {
    one.transport.connect(two.transport.addresses()).unwrap();
    two.transport.connect(one.transport.addresses()).unwrap();
}

/// Creates two connected sides in this process with one page of memory each.
fn pair(rails: u32, depth: usize) -> (Side, Side) {
    pair_with(rails, depth, MemoryKind::Heap, 4096)
}

fn pair_with(rails: u32, depth: usize, kind: MemoryKind, bytes: usize) -> (Side, Side) {
    let config = config(rails, depth, false);
    let mut one = Side::open(&config, kind, bytes);
    let mut two = Side::open(&config, kind, bytes);
    connect(&mut one, &mut two);
    (one, two)
}

/// Polls both sides until each has the expected number of completions.
fn poll_both(
    one: &mut Side,
    two: &mut Side,
    expected: (usize, usize),
) -> (Vec<CompletionKind>, Vec<CompletionKind>) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for _ in 0..MAX_POLLS {
        second.extend(two.poll());
        first.extend(one.poll());
        if first.len() >= expected.0 && second.len() >= expected.1 {
            break;
        }
    }
    assert_eq!((first.len(), second.len()), expected, "{first:?} {second:?}");
    (first, second)
}

/// Polls until the transport reports an error, and returns the error.
fn poll_error(side: &mut Side, mut other: Option<&mut Side>) -> TransportError {
    for _ in 0..MAX_POLLS {
        let mut room = [EMPTY; 8];
        if let Err(error) = side.transport.poll(&mut room) {
            return error;
        }
        if let Some(other) = &mut other {
            let _own_error = other.transport.poll(&mut room);
        }
    }
    panic!("no error in {MAX_POLLS} polls");
}

fn pattern(seed: u8, length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (i as u8).wrapping_mul(31).wrapping_add((i >> 8) as u8) ^ seed)
        .collect()
}
