//! One agent and its state. Only one thread at a time uses it, because every method that calls the library takes an
//! exclusive reference.

use super::agent_config::AgentConfig;
use super::objects::Objects;
use super::requests::Requests;
use super::{CallError, call, check};
use crate::memory::Memory;
use crate::transport::nixl::rules::notification::Notification;
use crate::transport::nixl::rules::packing::MemoryLocation;
use crate::transport::nixl::rules::steps::{Kind, Steps};
use crate::transport::{CompletionKind, Peer, PreparationStats};
use crds::v1alpha1::{NixlBackend, NixlRequests};
use nixl_sys::{Backend, MemoryType, Request};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::CString;
use std::sync::Arc;

/// Agent of a connected peer.
pub(super) struct PeerAgent {
    pub name: CString,
}

/// A peer's imported region.
pub(super) struct ImportedRegion {
    pub peer: Peer,
    pub location: MemoryLocation,
    pub address: u64,
    pub length: u64,
}

/// Request that serves a post.
#[derive(Clone, Copy, Debug)]
pub(super) enum PostRequest {
    /// Prepared request with this index, which is reused later.
    Prepared(u32),
    /// Request that is released when it is complete.
    Created(Request),
}

/// Post in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlightPost {
    pub token: u32,
    pub peer: Peer,
    pub handle: Request,
    pub request: PostRequest,
    pub kind: Kind,
    /// Time to create the request in nanoseconds; 0 unless steps are measured.
    pub creation_nanos: u64,
    /// Time to post the request in nanoseconds; 0 unless steps are measured.
    pub post_nanos: u64,
    /// Time at which the post returned; 0 unless steps are measured.
    pub posted: u64,
}

/// Receive that is waiting for a message.
pub(super) struct PostedReceive {
    pub token: u32,
    pub memory: Arc<Memory>,
    pub offset: u64,
    pub length: u64,
}

/// One agent with its peers and requests.
pub struct Rail {
    pub(super) requests: Requests,
    pub(super) in_flight_posts: Vec<InFlightPost>,
    /// Whether each token belongs to a post in flight.
    pub(super) in_flight: Box<[bool]>,
    pub(super) peers: Vec<PeerAgent>,
    pub(super) imported: Vec<ImportedRegion>,
    /// Receives in the order in which they were posted.
    pub(super) receives: VecDeque<PostedReceive>,
    /// Whether each token belongs to a posted receive.
    pub(super) receiving: Box<[bool]>,
    /// Messages that arrived before a receive was posted for them.
    pub(super) arrived: VecDeque<Notification>,
    /// Completions that the next poll returns.
    pub(super) ready: VecDeque<CompletionKind>,
    /// First failure since the last poll.
    pub(super) failure: Option<TransferError>,
    pub(super) mode: NixlRequests,
    /// Transfer steps, if they are measured.
    pub(super) steps: Option<Steps>,
    /// Backend that the library reported for the requests; `None` until the first request is prepared.
    pub(super) served_by: Option<String>,
    pub(super) backend: NixlBackend,
    pub(super) memory_types: Vec<MemoryType>,
    parameters: BTreeMap<String, String>,
    pub(super) objects: Arc<Objects>,
}

/// Failed transfer or notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::transport::nixl) struct TransferError {
    pub error: CallError,
    /// Whether the agent has dropped the peer's metadata, which happens when the connection to the peer is lost.
    pub peer_is_lost: bool,
}

impl Rail {
    pub(super) fn new(objects: Objects, config: &AgentConfig) -> Result<Self, CallError> {
        let (memory_types, parameters) = objects.backend_parameters(objects.backend)?;
        let requests = Requests::new(&objects, config.descriptors)?;
        let depth = config.depth;
        Ok(Self {
            requests,
            in_flight_posts: Vec::with_capacity(depth),
            in_flight: vec![false; depth].into(),
            peers: Vec::new(),
            imported: Vec::new(),
            receives: VecDeque::with_capacity(depth),
            receiving: vec![false; depth].into(),
            arrived: VecDeque::with_capacity(depth),
            ready: VecDeque::with_capacity(2 * depth),
            failure: None,
            mode: config.requests,
            steps: config.measures_steps.then(Steps::default),
            served_by: None,
            backend: config.backend,
            memory_types,
            parameters,
            objects: Arc::new(objects),
        })
    }

    /// Backend parameters after the backend was created, by name.
    pub(in crate::transport::nixl) fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    /// Transfer steps, if they were measured, and the backend that served the transfers.
    pub(in crate::transport::nixl) fn steps(&self) -> Option<(&Steps, &str)> {
        let steps = self.steps.as_ref()?;
        Some((steps, self.served_by.as_deref().unwrap_or("unknown")))
    }

    /// Number of prepared requests, and the time it took to prepare them.
    pub(in crate::transport::nixl) fn prepared(&self) -> PreparationStats {
        let (requests, nanos) = self.requests.prepared();
        PreparationStats { requests, nanos }
    }

    /// Queries which backend serves a request. Returns the name in the marker parameter that fabricbench sets on its
    /// own backend, or "another backend" for any other.
    pub(super) fn backend_of(&self, request: Request) -> Result<String, CallError> {
        let objects = &self.objects;
        let mut backend = Backend::NULL;
        let status = call!(
            objects.library,
            query_xfer_backend(objects.agent, request, &mut backend)
        );
        check("query_xfer_backend", status)?;
        let parameters = objects.backend_parameters(backend);
        call!(objects.library, destroy_backend(backend));
        let (_, mut parameters) = parameters?;
        let mark = parameters.remove(crds::v1alpha1::NixlParameter::MARK);
        Ok(mark.unwrap_or_else(|| "another backend".to_owned()))
    }
}

impl Drop for Rail {
    fn drop(&mut self) {
        for flight in self.in_flight_posts.drain(..) {
            if let PostRequest::Created(request) = flight.request {
                self.objects.release_request(request);
            }
        }
        self.requests.release(&self.objects);
    }
}
