//! Creates endpoints, and imports peers' keys.

use super::callbacks::{Origin, on_endpoint_failure};
use super::events::Source;
use super::lanes::lanes;
use super::operations::PeerWrites;
use super::rail::{Endpoint, ImportedKey, Rail};
use super::stable::StableBox;
use super::{CallError, check};
use crate::transport::Peer;
use crate::transport::ucx::rules::lanes::Lane;
use crate::transport::ucx::rules::packing::{RegionKey, WorkerAddress};
use std::mem::MaybeUninit;
use std::sync::PoisonError;
use ucx_sys::bindings::{
    UCP_EP_PARAM_FIELD_ERR_HANDLER, UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE, UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
    UCP_ERR_HANDLING_MODE_NONE, UCP_ERR_HANDLING_MODE_PEER, UCS_ERR_INVALID_PARAM, ucp_ep_params_t,
};

impl Rail {
    /// Creates an endpoint to the worker with this address, and returns the peer number and the endpoint's lanes.
    ///
    /// # Errors
    ///
    /// Returns the failed call if the peer cannot be reached over the configured transports.
    pub(in crate::transport::ucx) fn create_endpoint(
        &mut self,
        address: WorkerAddress<'_>,
    ) -> Result<(Peer, Vec<Lane>), CallError> {
        let peer = self.endpoints.len();
        let source = Source::Endpoint(u32::try_from(peer).unwrap_or(u32::MAX));
        let origin = StableBox::from(Box::new(Origin::new(&self.objects.events, source)));
        // SAFETY: the struct consists of integers, pointers and optional functions, for which zero is valid.
        let mut params: ucp_ep_params_t = unsafe { MaybeUninit::zeroed().assume_init() };
        params.field_mask = u64::from(
            UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
                | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE
                | UCP_EP_PARAM_FIELD_ERR_HANDLER,
        );
        params.address = address.bytes().as_ptr().cast();
        params.err_mode = if self.config.reports_peer_loss {
            UCP_ERR_HANDLING_MODE_PEER
        } else {
            UCP_ERR_HANDLING_MODE_NONE
        };
        params.err_handler.cb = Some(on_endpoint_failure);
        params.err_handler.arg = origin.as_user_data();
        self.objects
            .endpoint_origins
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(origin);
        let library = self.objects.library();
        let mut handle = std::ptr::null_mut();
        // SAFETY: the worker exists, the type of the address shows that a peer's UCX of the same release packed it, and the
        // origin lives longer than the worker.
        let status = unsafe {
            (library.functions().ucp_ep_create)(self.objects.worker.handle(), &params, &mut handle)
        };
        check(library, "ucp_ep_create", status)?;
        // SAFETY: the endpoint was just created, and the exclusive reference guarantees that no other thread uses it.
        let lanes = unsafe { lanes(library, handle) };
        self.endpoints.push(Endpoint {
            handle,
            writes: PeerWrites::new(self.config.depth),
        });
        Ok((peer, lanes))
    }

    /// Imports the key of a peer's region and returns its index.
    ///
    /// # Errors
    ///
    /// Returns the failed call if the library rejects the key.
    pub(in crate::transport::ucx) fn import_key(
        &mut self,
        peer: Peer,
        key: RegionKey<'_>,
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
        let bytes = key.bytes().as_ptr().cast();
        // SAFETY: the endpoint is open, and the type of the key shows that a peer's UCX of the same release packed it.
        let status = unsafe { (library.functions().ucp_ep_rkey_unpack)(endpoint.handle, bytes, &mut handle) };
        check(library, "ucp_ep_rkey_unpack", status)?;
        self.keys.push(ImportedKey {
            handle,
            peer,
            address: key.address(),
            length: key.length(),
        });
        Ok(self.keys.len() as u64 - 1)
    }
}
