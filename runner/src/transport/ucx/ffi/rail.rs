//! One open rail and its state. Only one thread at a time uses a rail, because every method that calls the library takes
//! an exclusive reference.

use super::objects::Objects;
use super::operations::{FlushState, PeerWrites, PostState, ReceiveState};
use super::{CallError, check};
use crate::transport::ucx::rules::packing;
use crate::transport::{CompletionKind, Peer};
use std::collections::VecDeque;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::time::{Duration, Instant};
use ucx_sys::bindings::{
    UCP_DATATYPE_CONTIG, UCP_DATATYPE_SHIFT, UCP_EP_CLOSE_FLAG_FORCE, UCP_OP_ATTR_FIELD_FLAGS,
    ucp_datatype_t, ucp_ep_h, ucp_request_param_t, ucp_rkey_h,
};
use ucx_sys::{RequestState, request_state};

/// Identifier of the active message that notifies a peer of a write.
pub(super) const NOTIFICATION_ID: c_uint = 1;
/// Identifier of active messages with a payload.
pub(super) const MESSAGE_ID: c_uint = 2;
/// Maximum number of flushes in flight.
pub(super) const MAX_FLUSHES: usize = 16;
/// Datatype of all operations: bytes (`ucp_dt_make_contig(1)`).
pub(super) const BYTES: ucp_datatype_t =
    (1 << UCP_DATATYPE_SHIFT as ucp_datatype_t) | UCP_DATATYPE_CONTIG as ucp_datatype_t;
/// Maximum time to wait for the library to close endpoints.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Rail settings that are not part of UCX's configuration.
#[derive(Clone, Copy, Debug)]
pub(in crate::transport::ucx) struct RailConfig {
    /// Maximum number of posts in flight, and maximum number of posted receives.
    pub depth: usize,
    /// Number of peers that will be connected.
    pub peers: usize,
    /// Whether the worker must support waiting.
    pub uses_wait: bool,
    /// Whether the library reports lost peers (`UCP_ERR_HANDLING_MODE_PEER`).
    pub reports_peer_loss: bool,
}

/// Endpoint to one peer.
pub(super) struct Endpoint {
    pub handle: ucp_ep_h,
    pub writes: PeerWrites,
}

/// Imported key of a peer's region.
pub(super) struct ImportedKey {
    pub handle: ucp_rkey_h,
    pub peer: Peer,
    pub address: u64,
    pub length: u64,
}

/// One worker with its endpoints.
pub struct Rail {
    pub(super) objects: Arc<Objects>,
    pub(super) config: RailConfig,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) keys: Vec<ImportedKey>,
    /// States of posts, by token.
    pub(super) posts: Box<[PostState]>,
    /// States of receives, by token.
    pub(super) receives: Box<[ReceiveState]>,
    /// States of flushes, by slot.
    pub(super) flushes: Box<[FlushState]>,
    pub(super) free_flushes: Vec<u32>,
    /// Number of flushes in flight that were posted by [`Rail::post_flush`].
    pub(super) requested_flushes: u32,
    /// Peers with writes that no flush covers yet.
    pub(super) unflushed: Vec<Peer>,
    /// Completions that the next poll returns.
    pub(super) ready: VecDeque<CompletionKind>,
    /// First failure since the last poll.
    pub(super) failure: Option<CallError>,
    /// File descriptor to wait on, if the worker was opened for waiting.
    pub(super) wait_descriptor: Option<c_int>,
    name: Vec<u8>,
}

// SAFETY: the raw pointers are endpoints, keys and requests of the worker in `objects`, which any thread may use, but
// only one at a time (see `Objects`). All other fields are Send. A rail is not Sync, so moving it transfers the use of
// the worker to the other thread.
unsafe impl Send for Rail {}

impl Rail {
    pub(super) fn new(mut objects: Objects, config: RailConfig) -> Result<Self, CallError> {
        let name = packed_address(&mut objects)?;
        let wait_descriptor = config
            .uses_wait
            .then(|| wait_descriptor(&mut objects))
            .transpose()?;
        Ok(Self {
            objects: Arc::new(objects),
            config,
            endpoints: Vec::with_capacity(config.peers),
            keys: Vec::new(),
            posts: vec![PostState::Idle; config.depth].into(),
            receives: vec![ReceiveState::Idle; config.depth].into(),
            flushes: vec![FlushState::default(); MAX_FLUSHES].into(),
            free_flushes: (0..MAX_FLUSHES as u32).collect(),
            requested_flushes: 0,
            unflushed: Vec::with_capacity(config.peers.max(1)),
            ready: VecDeque::with_capacity(2 * config.depth + 1024),
            failure: None,
            wait_descriptor,
            name,
        })
    }

    /// Packed worker address, which peers use to connect.
    pub(in crate::transport::ucx) fn name(&self) -> &[u8] {
        &self.name
    }

    /// Whether another flush can be posted now.
    pub(in crate::transport::ucx) fn has_free_flush(&self) -> bool {
        !self.free_flushes.is_empty()
    }

    /// Number of flushes in flight that were posted by [`Rail::post_flush`].
    #[inline]
    pub(in crate::transport::ucx) fn requested_flushes(&self) -> u32 {
        self.requested_flushes
    }

    /// Drives progress once. Returns the number of events that the library handled.
    #[inline]
    pub(super) fn progress(&mut self) -> c_uint {
        let objects = &self.objects;
        // SAFETY: the worker exists, and the exclusive reference guarantees that no other thread uses it.
        unsafe { (objects.library().functions().ucp_worker_progress)(objects.worker.handle()) }
    }

    /// Cancels the posted receives, so that the library returns their requests.
    fn cancel_receives(&mut self) {
        for receive in &self.receives {
            if let ReceiveState::Posted(request) = receive {
                let objects = &self.objects;
                // SAFETY: the worker exists, and the request has not completed: its completion would have changed the
                // state, because all events are handled before the call.
                unsafe {
                    (objects.library().functions().ucp_request_cancel)(objects.worker.handle(), *request);
                }
            }
        }
    }

    /// Closes the endpoints, which cancels the operations in flight. Returns whether all of them ended in time.
    fn close_endpoints(&mut self) -> bool {
        let mut closed = true;
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        let objects = Arc::clone(&self.objects);
        let functions = objects.library().functions();
        for endpoint in std::mem::take(&mut self.endpoints) {
            // SAFETY: the struct consists of integers, pointers and unions of pointers, for which zero is valid.
            let mut param: ucp_request_param_t = unsafe { std::mem::MaybeUninit::zeroed().assume_init() };
            param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
            param.flags = UCP_EP_CLOSE_FLAG_FORCE;
            // SAFETY: the endpoint is open, its error handling mode allows this flag, and it is not used afterwards.
            let state = request_state(unsafe { (functions.ucp_ep_close_nbx)(endpoint.handle, &param) });
            let request = match state {
                RequestState::InProgress(request) => request,
                RequestState::Completed => continue,
                RequestState::Failed(_) => {
                    // The endpoint remains open, so its operations may still refer to the keys.
                    closed = false;
                    continue;
                }
            };
            loop {
                // SAFETY: the request was just returned and has not been freed.
                if unsafe { (functions.ucp_request_check_status)(request.as_ptr()) } <= 0 {
                    break;
                }
                if Instant::now() >= deadline {
                    closed = false;
                    break;
                }
                self.progress();
            }
            // SAFETY: as above; a request that is still in progress is released when it completes.
            unsafe { (functions.ucp_request_free)(request.as_ptr()) };
        }
        closed
    }
}

impl Drop for Rail {
    fn drop(&mut self) {
        self.handle_events();
        self.cancel_receives();
        // Unless error handling is enabled, closing an endpoint requires the peer. Destroying the worker destroys the
        // endpoint.
        let idle = if self.config.reports_peer_loss {
            self.close_endpoints()
        } else {
            self.posts.iter().all(|post| *post == PostState::Idle)
        };
        self.handle_events();
        self.release_messages();
        if !idle {
            // An operation in flight to a lost peer still refers to its key, which is therefore not destroyed.
            return;
        }
        for key in self.keys.drain(..) {
            // SAFETY: the key was unpacked by an endpoint of this worker, and no operation that uses it is in flight.
            unsafe { (self.objects.library().functions().ucp_rkey_destroy)(key.handle) };
        }
    }
}

fn packed_address(objects: &mut Objects) -> Result<Vec<u8>, CallError> {
    let library = objects.library();
    let functions = library.functions();
    let worker = objects.worker.handle();
    let (mut address, mut length) = (std::ptr::null_mut(), 0);
    // SAFETY: the worker exists, no other thread uses it, and there is room for the results.
    let status = unsafe { (functions.ucp_worker_get_address)(worker, &mut address, &mut length) };
    check(library, "ucp_worker_get_address", status)?;
    // SAFETY: the library returned an address of this length.
    let content = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length) };
    let packed = packing::pack_address(library.identity().version, content);
    // SAFETY: the address came from this worker and is not used afterwards.
    unsafe { (functions.ucp_worker_release_address)(worker, address) };
    Ok(packed)
}

/// File descriptor of a worker whose context has the WAKEUP feature.
fn wait_descriptor(objects: &mut Objects) -> Result<c_int, CallError> {
    let library = objects.library();
    let mut descriptor = -1;
    // SAFETY: the worker exists, no other thread uses it, and there is room for the descriptor, which the worker owns.
    let status =
        unsafe { (library.functions().ucp_worker_get_efd)(objects.worker.handle(), &mut descriptor) };
    check(library, "ucp_worker_get_efd", status).map(|()| descriptor)
}
