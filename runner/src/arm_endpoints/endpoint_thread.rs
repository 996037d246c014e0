//! One measuring thread's endpoints and memory: nobody else ever touches them.

use std::sync::Arc;

use crds::record::FailureReason;

use super::receives::Receives;
use super::tokens::Tokens;
use crate::measure::clock;
use crate::memory::Memory;
use crate::scenario::immediate::CaseTag;
use crate::transport::{
    Completion, CompletionKind, Peer, PostError, Region, RemoteRegion, Transport, TransportError,
};

/// Completions taken in one poll, as NIXL's libfabric backend does.
const COMPLETIONS: usize = 16;

/// One measuring thread's endpoints and memory.
pub struct EndpointThread<T: Transport> {
    pub(crate) transport: T,
    /// Memory that control messages leave from and arrive in.
    pub(crate) control: T::Region,
    /// Memory of each kind, in the order of the bench's kinds; `None` where it cannot be had.
    pub(crate) data: Vec<Option<T::Region>>,
    /// Tokens of each rail.
    pub(crate) tokens: Box<[Tokens]>,
    pub(crate) receives: Receives,
    pub(crate) completions: Box<[Completion]>,
    pub(crate) peers: Vec<ThreadPeer>,
    /// A peer that is a case ahead: its tag, and the turnover it asks for.
    pub(crate) early_ready: Option<(CaseTag, u64)>,
    pub(crate) first_post: FirstPost,
    /// Why no case can run here any more.
    pub(crate) broken: Option<String>,
    /// Processor the thread is pinned to.
    pub(crate) cpu: Option<u32>,
}

/// A peer's end of a lane.
#[derive(Clone, Debug)]
pub struct ThreadPeer {
    /// Its rank.
    pub(crate) rank: u32,
    /// Its number in the transport.
    pub(crate) peer: Peer,
    /// Its memory of each kind, in the order of the bench's kinds.
    pub(crate) regions: Vec<Option<RemoteRegion>>,
}

/// How long the first post of a lane took to complete.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstPost {
    begun: Option<u64>,
    nanos: Option<u64>,
}

impl FirstPost {
    /// A control message is about to be posted.
    pub(crate) fn posting(&mut self) {
        self.begun.get_or_insert_with(clock::now);
    }

    /// A control message completed.
    pub(crate) fn completed(&mut self) {
        if let (Some(begun), None) = (self.begun, self.nanos) {
            self.nanos = Some(clock::now().saturating_sub(begun));
        }
    }

    /// Nanoseconds from the first post to its completion; `None` before that.
    pub(crate) fn nanos(&self) -> Option<u64> {
        self.nanos
    }
}

impl<T: Transport> EndpointThread<T> {
    /// A lane of `transport` whose memory is registered, with `depth` posts in flight on each rail.
    pub(crate) fn new(
        transport: T,
        control: T::Region,
        data: Vec<Option<T::Region>>,
        depth: usize,
        cpu: Option<u32>,
    ) -> Self {
        let rails = transport.rails();
        let nothing = Completion {
            rail: 0,
            kind: CompletionKind::Posted { token: 0 },
        };
        Self {
            transport,
            control,
            data,
            tokens: (0..rails).map(|_| Tokens::new(depth)).collect(),
            receives: Receives::new(rails),
            completions: vec![nothing; COMPLETIONS].into(),
            peers: Vec::new(),
            early_ready: None,
            first_post: FirstPost::default(),
            broken: None,
            cpu,
        }
    }

    /// The memory of a kind.
    pub(crate) fn memory(&self, kind: usize) -> Option<Arc<Memory>> {
        let region = self.data.get(kind)?.as_ref()?;
        Some(Arc::clone(region.memory()))
    }

    /// The end of the peer with this rank.
    pub(crate) fn peer(&self, rank: u32) -> Option<&ThreadPeer> {
        self.peers.iter().find(|peer| peer.rank == rank)
    }
}

/// The library does not take a receive.
pub(crate) fn receive_refused(error: PostError) -> TransportError {
    TransportError {
        reason: FailureReason::PostFailed,
        operation: "post_receive",
        message: format!("a receive cannot be posted ({error:?}): no message can arrive over this provider"),
    }
}
