//! Listens for connections of peers, and accepts them.

use super::callbacks::{Origin, requested};
use super::connect::Target;
use super::objects::Objects;
use super::rail::Rail;
use super::{CallError, check};
use rustix::net::SocketAddrAny;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::ptr::NonNull;
use std::sync::Arc;
use ucx_sys::Library;
use ucx_sys::bindings::{
    UCP_LISTENER_ATTR_FIELD_SOCKADDR, UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
    UCP_LISTENER_PARAM_FIELD_SOCK_ADDR, UCS_ERR_INVALID_ADDR, ucp_conn_request, ucp_listener_attr_t,
    ucp_listener_h, ucp_listener_params_t,
};

/// Owned listener.
pub(super) struct Listener {
    library: Arc<Library>,
    handle: ucp_listener_h,
    /// Address that peers connect to.
    pub address: SocketAddr,
}

impl Drop for Listener {
    fn drop(&mut self) {
        // SAFETY: the listener exists, and `Objects` drops it before the worker.
        unsafe { (self.library.functions().ucp_listener_destroy)(self.handle) };
    }
}

impl Listener {
    /// Listens on `address`. The library chooses the port if it is 0.
    ///
    /// # Errors
    ///
    /// Returns the failed call, if the address is not an address of this machine or the port is in use.
    pub(super) fn create(objects: &Objects, address: SocketAddr) -> Result<Self, CallError> {
        let library = objects.library();
        let any = SocketAddrAny::from(address);
        // SAFETY: the struct consists of integers, pointers and optional functions, for which zero is valid.
        let mut params: ucp_listener_params_t = unsafe { MaybeUninit::zeroed().assume_init() };
        params.field_mask =
            u64::from(UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER);
        params.sockaddr.addr = any.as_ptr().cast();
        params.sockaddr.addrlen = any.addr_len();
        params.conn_handler.cb = Some(requested);
        params.conn_handler.arg = objects
            .origins
            .last()
            .map_or(std::ptr::null_mut(), Origin::as_user_data);
        let mut handle = std::ptr::null_mut();
        // SAFETY: the worker exists, the address is valid during the call, and the origin lives longer than the worker.
        let status = unsafe {
            (library.functions().ucp_listener_create)(objects.worker.handle(), &params, &mut handle)
        };
        check(library, "ucp_listener_create", status)?;
        let mut listener = Self {
            library: Arc::clone(library),
            handle,
            address,
        };
        listener.address = listener.query()?;
        Ok(listener)
    }

    /// Address with the port that the library chose.
    fn query(&self) -> Result<SocketAddr, CallError> {
        // SAFETY: the struct consists of integers and a socket address, for which zero is valid.
        let mut attributes: ucp_listener_attr_t = unsafe { MaybeUninit::zeroed().assume_init() };
        attributes.field_mask = u64::from(UCP_LISTENER_ATTR_FIELD_SOCKADDR);
        // SAFETY: the listener exists, and there is room for the result.
        let status = unsafe { (self.library.functions().ucp_listener_query)(self.handle, &mut attributes) };
        check(&self.library, "ucp_listener_query", status)?;
        let length = size_of_val(&attributes.sockaddr) as u32;
        // SAFETY: the storage is initialized and as long as any address.
        let any = unsafe { SocketAddrAny::read(std::ptr::from_ref(&attributes.sockaddr).cast(), length) };
        let address = SocketAddr::try_from(any).ok();
        address.ok_or_else(|| CallError::new(&self.library, "ucp_listener_query", UCS_ERR_INVALID_ADDR))
    }

    fn reject(&self, request: NonNull<ucp_conn_request>) {
        // SAFETY: the listener exists, and the request has been neither accepted nor rejected.
        let status = unsafe { (self.library.functions().ucp_listener_reject)(self.handle, request.as_ptr()) };
        if status < 0 {
            tracing::warn!(status, "ucp_listener_reject failed");
        }
    }
}

impl Rail {
    /// Accepts a connection of a peer. Connections beyond the number of peers are rejected.
    #[cold]
    pub(super) fn connection_requested(&mut self, request: NonNull<ucp_conn_request>) {
        if self.accepted.len() >= self.config.peers {
            if let Some(listener) = &self.objects.listener {
                listener.reject(request);
            }
            return;
        }
        // The failure of an accepted endpoint is reported as that of a peer, because it only receives from one.
        match self.create_endpoint(Target::Request(request), self.accepted.len()) {
            Ok(endpoint) => self.accepted.push(endpoint),
            Err(error) => {
                self.failure.get_or_insert(error);
            }
        }
    }
}
