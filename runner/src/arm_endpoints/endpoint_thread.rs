//! The endpoints and memory of one measuring thread. No other thread accesses them.

use std::sync::Arc;

use crds::record::{FailureReason, ProtocolUse};

use super::receives::Receives;
use super::tokens::Tokens;
use crate::immediate::CaseTag;
use crate::measure::clock;
use crate::memory::Memory;
use crate::transport::{
    Completion, CompletionKind, Peer, PostError, Region, RemoteKey, Transport, TransportError,
};

/// Maximum number of completions read in one poll. NIXL's libfabric backend has the same limit.
const COMPLETIONS: usize = 16;

/// The endpoints and memory of one measuring thread.
pub struct EndpointThread<T: Transport> {
    /// Number of the thread within its flow. The thread exchanges payload with the peer's thread of the same number.
    pub(crate) number: usize,
    pub(crate) transport: T,
    /// Memory from which control messages are sent and into which they are received.
    pub(crate) control: T::Region,
    /// Memory of each kind, in the order of [`ArmEndpoints::kinds`](super::ArmEndpoints); `None` if it is unavailable.
    pub(crate) data: Vec<Option<T::Region>>,
    /// Post tokens of each rail.
    pub(crate) tokens: Box<[Tokens]>,
    pub(crate) receives: Receives,
    pub(crate) completions: Box<[Completion]>,
    pub(crate) peers: Vec<ThreadPeer>,
    /// A `Ready` signal that arrived before this side started the case: the case tag, and the number of drain messages
    /// the peer requested.
    pub(crate) early_ready: Option<(CaseTag, u64)>,
    pub(crate) first_post: FirstPostTimer,
    /// Failure after which no further cases can run on this thread; `None` if the endpoints are usable.
    pub(crate) broken: Option<String>,
    /// CPU to which the thread is pinned.
    pub(crate) cpu: Option<u32>,
}

/// A peer to which an endpoint thread is connected.
#[derive(Clone, Debug)]
pub struct ThreadPeer {
    /// Peer rank.
    pub(crate) rank: u32,
    /// The transport's handle for the peer.
    pub(crate) peer: Peer,
    /// Keys of the peer's memory of each kind, by rail, in the order of [`ArmEndpoints::kinds`](super::ArmEndpoints).
    pub(crate) regions: Vec<Option<Vec<RemoteKey>>>,
}

/// Measures the time from the first post of a thread to the completion of this post.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstPostTimer {
    posted: Option<u64>,
    nanos: Option<u64>,
}

impl FirstPostTimer {
    /// Records that a control message is about to be posted.
    pub(crate) fn record_post(&mut self) {
        self.posted.get_or_insert_with(clock::now);
    }

    /// Records that a control message has completed.
    pub(crate) fn record_completion(&mut self) {
        if let (Some(posted), None) = (self.posted, self.nanos) {
            self.nanos = Some(clock::now().saturating_sub(posted));
        }
    }

    /// Nanoseconds from the first post to its completion; `None` until it completes.
    pub(crate) fn nanos(&self) -> Option<u64> {
        self.nanos
    }
}

impl<T: Transport> EndpointThread<T> {
    /// Combines the transport of measuring thread `number` with its registered memory. Up to `depth` posts may be in
    /// flight on each rail.
    pub(crate) fn new(
        number: usize,
        transport: T,
        control: T::Region,
        data: Vec<Option<T::Region>>,
        depth: usize,
        cpu: Option<u32>,
    ) -> Self {
        let rails = transport.rails();
        let empty = Completion {
            rail: 0,
            kind: CompletionKind::Posted { token: 0 },
        };
        Self {
            number,
            transport,
            control,
            data,
            tokens: (0..rails).map(|_| Tokens::new(depth)).collect(),
            receives: Receives::new(rails),
            completions: vec![empty; COMPLETIONS].into(),
            peers: Vec::new(),
            early_ready: None,
            first_post: FirstPostTimer::default(),
            broken: None,
            cpu,
        }
    }

    /// Unregisters the memory and closes the endpoints. Returns the protocols that the library used, if it counts them.
    pub(crate) fn close(self) -> Vec<ProtocolUse> {
        let Self {
            transport,
            control,
            data,
            ..
        } = self;
        drop((control, data));
        transport.close()
    }

    /// Memory of the kind with index `kind`; `None` if it is unavailable.
    pub(crate) fn memory(&self, kind: usize) -> Option<Arc<Memory>> {
        let region = self.data.get(kind)?.as_ref()?;
        Some(Arc::clone(region.memory()))
    }

    /// Connected peer with rank `rank`.
    pub(crate) fn peer(&self, rank: u32) -> Option<&ThreadPeer> {
        self.peers.iter().find(|peer| peer.rank == rank)
    }
}

/// Creates the error for a receive that the library rejected.
pub(crate) fn receive_rejected(error: PostError) -> TransportError {
    TransportError {
        reason: FailureReason::PostFailed,
        operation: "post_receive",
        message: format!(
            "a receive cannot be posted ({error:?}), so no message can arrive over this provider"
        ),
    }
}
