//! Creates endpoints, and imports the keys of peers.

use super::callbacks::{Origin, Source, failed};
use super::lanes::lanes;
use super::rail::{Endpoint, GREETING_ID, ImportedKey, Rail};
use super::writes::PeerWrites;
use super::{CallError, check};
use crate::transport::Peer;
use crate::transport::ucx::rules::lanes::Lane;
use rustix::net::SocketAddrAny;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::ptr::NonNull;
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use ucx_sys::bindings::{
    UCP_EP_PARAM_FIELD_CONN_REQUEST, UCP_EP_PARAM_FIELD_ERR_HANDLER, UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE,
    UCP_EP_PARAM_FIELD_FLAGS, UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, UCP_EP_PARAM_FIELD_SOCK_ADDR,
    UCP_EP_PARAMS_FLAGS_CLIENT_SERVER, UCP_ERR_HANDLING_MODE_NONE, UCP_ERR_HANDLING_MODE_PEER,
    UCS_ERR_INVALID_PARAM, UCS_ERR_TIMED_OUT, UCS_OK, ucp_conn_request, ucp_ep_h, ucp_ep_params_t,
};
use ucx_sys::{RequestState, request_state};

/// Maximum time to wait until the connection to a listener is established in both directions.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What an endpoint is connected to.
#[derive(Clone, Copy, Debug)]
pub(in crate::transport::ucx) enum Target<'a> {
    /// A worker, by its address, which must come from [`crate::transport::ucx::rules::packing::unpack`].
    Worker(&'a [u8]),
    /// The listener of a peer.
    Listener(SocketAddr),
    /// A peer that connects to the listener of this rail.
    Request(NonNull<ucp_conn_request>),
}

impl Rail {
    /// Connects to a peer, and returns its number and the lanes of the endpoint.
    ///
    /// With a listener, the call returns when the peer has also connected to the listener of this rail.
    ///
    /// # Errors
    ///
    /// Returns the failed call, if the peer cannot be reached over the configured transports.
    pub(in crate::transport::ucx) fn connect(
        &mut self,
        target: Target<'_>,
    ) -> Result<(Peer, Vec<Lane>), CallError> {
        let peer = self.endpoints.len();
        let handle = self.create_endpoint(target, peer)?;
        self.endpoints.push(Endpoint {
            handle,
            writes: PeerWrites::new(self.config.depth),
        });
        if matches!(target, Target::Listener(_)) {
            self.wait_until_connected(handle)?;
        }
        // SAFETY: the endpoint is open, and this exclusive reference shows that no other thread uses it.
        let lanes = unsafe { lanes(self.objects.library(), handle) };
        Ok((peer, lanes))
    }

    /// Creates an endpoint whose failures are reported as those of peer `peer`.
    pub(super) fn create_endpoint(&self, target: Target<'_>, peer: Peer) -> Result<ucp_ep_h, CallError> {
        let source = Source::Endpoint(u32::try_from(peer).unwrap_or(u32::MAX));
        let origin = Box::new(Origin::new(&self.objects.events, source));
        // SAFETY: the struct consists of integers, pointers and optional functions, for which zero is valid.
        let mut params: ucp_ep_params_t = unsafe { MaybeUninit::zeroed().assume_init() };
        params.field_mask = u64::from(UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER);
        params.err_mode = if self.config.reports_peer_loss {
            UCP_ERR_HANDLING_MODE_PEER
        } else {
            UCP_ERR_HANDLING_MODE_NONE
        };
        params.err_handler.cb = Some(failed);
        params.err_handler.arg = origin.as_user_data();
        // Outlives the call below.
        let socket_address;
        match target {
            Target::Worker(address) => {
                params.field_mask |= u64::from(UCP_EP_PARAM_FIELD_REMOTE_ADDRESS);
                params.address = address.as_ptr().cast();
            }
            Target::Listener(address) => {
                params.field_mask |= u64::from(UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR);
                params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
                socket_address = SocketAddrAny::from(address);
                params.sockaddr.addr = socket_address.as_ptr().cast();
                params.sockaddr.addrlen = socket_address.addr_len();
            }
            Target::Request(request) => {
                params.field_mask |= u64::from(UCP_EP_PARAM_FIELD_CONN_REQUEST);
                params.conn_request = request.as_ptr();
            }
        }
        // The box keeps its address when it is moved.
        self.objects
            .endpoint_origins
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(origin);
        let library = self.objects.library();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the worker exists, and the origin lives longer than it. The target is valid: a peer's UCX of the same
        // release packed the worker address (its checksum matched), or the library just passed the request to the callback
        // of the listener.
        let status = unsafe {
            (library.functions().ucp_ep_create)(self.objects.worker.handle(), &params, &mut handle)
        };
        check(library, "ucp_ep_create", status)?;
        Ok(handle)
    }

    /// Sends a greeting over the endpoint, and drives progress until it is sent and as many greetings have arrived as this
    /// rail has connected to peers. Without the second condition, this side might stop to drive progress before its peer
    /// is connected to it.
    fn wait_until_connected(&mut self, endpoint: ucp_ep_h) -> Result<(), CallError> {
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        let functions = *self.objects.library().functions();
        // SAFETY: the endpoint is open, and the message has neither a header nor a payload.
        let state = request_state(unsafe {
            (functions.ucp_am_send_nbx)(
                endpoint,
                GREETING_ID,
                std::ptr::null(),
                0,
                std::ptr::null(),
                0,
                &super::posting::empty_param(),
            )
        });
        match state {
            // SAFETY: the request was just returned; it is released when it completes.
            RequestState::InProgress(request) => unsafe { (functions.ucp_request_free)(request.as_ptr()) },
            RequestState::Completed => {}
            RequestState::Failed(status) => {
                return Err(CallError::new(self.objects.library(), "ucp_am_send_nbx", status));
            }
        }
        // SAFETY: the endpoint is open, and the parameters have no field.
        let state =
            request_state(unsafe { (functions.ucp_ep_flush_nbx)(endpoint, &super::posting::empty_param()) });
        let mut flush = match state {
            RequestState::InProgress(request) => Some(request),
            RequestState::Completed => None,
            RequestState::Failed(status) => {
                return Err(CallError::new(self.objects.library(), "ucp_ep_flush_nbx", status));
            }
        };
        let result = loop {
            if let Some(request) = flush {
                // SAFETY: the request was returned above and has not been freed.
                let status = unsafe { (functions.ucp_request_check_status)(request.as_ptr()) };
                if status < 0 {
                    break check(self.objects.library(), "ucp_ep_flush_nbx", status);
                }
                if status == UCS_OK {
                    // SAFETY: as above.
                    unsafe { (functions.ucp_request_free)(request.as_ptr()) };
                    flush = None;
                }
            }
            if flush.is_none() && self.greetings >= self.endpoints.len() {
                break Ok(());
            }
            if let Some(failure) = self.failure.take() {
                break Err(failure);
            }
            if Instant::now() >= deadline {
                let library = self.objects.library();
                break Err(CallError::new(library, "ucp_ep_create", UCS_ERR_TIMED_OUT));
            }
            if self.progress() == 0 {
                std::thread::yield_now();
            }
            self.handle_events();
        };
        if let Some(request) = flush {
            // SAFETY: as above; a request that is still in progress is released when it completes.
            unsafe { (functions.ucp_request_free)(request.as_ptr()) };
        }
        result
    }

    /// Imports the key of a peer's region and returns its index. The key must come from
    /// [`crate::transport::ucx::rules::packing::unpack`].
    ///
    /// # Errors
    ///
    /// Returns the failed call if the library refuses the key.
    pub(in crate::transport::ucx) fn import(
        &mut self,
        peer: Peer,
        key: &[u8],
        address: u64,
        length: u64,
    ) -> Result<u64, CallError> {
        let library = self.objects.library();
        let Some(endpoint) = self.endpoints.get(peer) else {
            return Err(CallError::new(
                library,
                "ucp_ep_rkey_unpack",
                UCS_ERR_INVALID_PARAM,
            ));
        };
        let mut handle = std::ptr::null_mut();
        // SAFETY: the endpoint is open, and a peer's UCX of the same release packed the key (its checksum matched).
        let status = unsafe {
            (library.functions().ucp_ep_rkey_unpack)(endpoint.handle, key.as_ptr().cast(), &mut handle)
        };
        check(library, "ucp_ep_rkey_unpack", status)?;
        self.keys.push(ImportedKey {
            handle,
            peer,
            address,
            length,
        });
        Ok(self.keys.len() as u64 - 1)
    }
}
