//! One open rail and its properties. Only one thread at a time uses a rail, because every method that calls the library
//! takes an exclusive reference.

use super::objects::Objects;
use super::options::{self, Limits};
use super::{CallError, check};
use crate::transport::Peer;
use crate::transport::libfabric::rules::address::MAX_NAME_BYTES;
use crate::transport::libfabric::rules::attributes::Attributes;
use crate::transport::libfabric::rules::offload::ReportedProperties;
use libfabric_sys::bindings::{FI_EINVAL, FI_ETOOSMALL, fi_addr_t};
use libfabric_sys::newer_constants::FI_ADDR_UNSPEC;
use libfabric_sys::{Library, calls};
use std::ffi::c_int;
use std::sync::Arc;

/// Rail settings that are not part of the rail's `fi_info`.
#[derive(Clone, Copy, Debug)]
pub(in crate::transport::libfabric) struct RailConfig {
    /// Maximum number of posts in flight, and maximum number of posted receives.
    pub depth: usize,
    /// Number of peers that will be connected.
    pub peers: usize,
    /// Whether the queue must support waiting.
    pub uses_wait: bool,
    /// Whether the endpoint must not use shared memory.
    pub forbid_shared_memory: bool,
    /// Whether the endpoint must not copy GPU memory through host memory.
    pub require_peer_to_peer: bool,
}

/// Arguments of a posted receive, saved so that it can be reposted when a write with immediate data consumes it.
#[derive(Clone, Copy)]
pub(super) struct PostedReceive {
    pub pointer: *mut u8,
    pub length: usize,
    pub descriptor: *mut std::ffi::c_void,
}

impl PostedReceive {
    const EMPTY: Self = Self {
        pointer: std::ptr::null_mut(),
        length: 0,
        descriptor: std::ptr::null_mut(),
    };
}

/// One endpoint with its own domain.
pub struct Rail {
    pub(super) objects: Arc<Objects>,
    pub(super) depth: usize,
    pub(super) limits: Limits,
    pub(super) mr_mode: i32,
    /// Whether an incoming write with immediate data consumes a posted receive.
    pub(super) immediate_consumes_receive: bool,
    /// Whether each slot is in use, so that two operations in flight never share a context.
    ///
    /// The slots for posts come first, followed by the slots for receives.
    pub(super) in_flight: Box<[bool]>,
    /// Posted receives, by token.
    pub(super) receives: Box<[PostedReceive]>,
    /// Slots of receives that were consumed by writes with immediate data and must be reposted.
    pub(super) consumed_receives: Vec<usize>,
    pub(super) peers: Vec<fi_addr_t>,
    /// File descriptor to wait on, if the queue was opened for waiting.
    pub(super) wait_descriptor: Option<c_int>,
    last_key: u64,
    name: Vec<u8>,
    reported: ReportedProperties,
}

// SAFETY: the raw pointers are addresses of registered memory and opaque descriptors. `objects` keeps them valid, and
// only the library dereferences them. All other fields are Send.
unsafe impl Send for Rail {}

impl Rail {
    pub(super) fn new(
        objects: Objects,
        attributes: &Attributes,
        config: RailConfig,
    ) -> Result<Self, CallError> {
        let library = Arc::clone(objects.info.library());
        let name = endpoint_name(&library, &objects)?;
        Ok(Self {
            depth: config.depth,
            limits: options::limits(&library, &objects.endpoint, attributes),
            reported: options::reported_offload(&library, &objects.endpoint),
            mr_mode: attributes.mr_mode,
            immediate_consumes_receive: attributes.immediate_consumes_receive(),
            in_flight: vec![false; 2 * config.depth].into(),
            receives: vec![PostedReceive::EMPTY; config.depth].into(),
            consumed_receives: Vec::with_capacity(config.depth),
            peers: Vec::with_capacity(config.peers),
            wait_descriptor: config.uses_wait.then(|| wait_descriptor(&objects)).transpose()?,
            last_key: 0,
            name,
            objects: Arc::new(objects),
        })
    }

    /// Endpoint name, which peers use to connect.
    pub(in crate::transport::libfabric) fn name(&self) -> &[u8] {
        &self.name
    }

    pub(in crate::transport::libfabric) fn limits(&self) -> Limits {
        self.limits
    }

    /// RMA emulation, as reported by the library.
    pub(in crate::transport::libfabric) fn reported_offload(&self) -> ReportedProperties {
        self.reported
    }

    /// Adds a peer by its endpoint name, padded by [`crate::transport::libfabric::rules::address::pad`].
    ///
    /// # Errors
    ///
    /// Returns the failed call if the library rejects the name.
    pub(in crate::transport::libfabric) fn insert(
        &mut self,
        name: &[u8; 2 * MAX_NAME_BYTES],
    ) -> Result<Peer, CallError> {
        let library = self.objects.info.library();
        let mut address: fi_addr_t = FI_ADDR_UNSPEC;
        // SAFETY: the address vector is open, the padded name is longer than any address format, and there is room for
        // the one inserted address.
        let count = unsafe {
            calls::fi_av_insert(
                self.objects.addresses.as_ptr(),
                name.as_ptr().cast(),
                1,
                &mut address,
                0,
                std::ptr::null_mut(),
            )
        };
        check(library, "fi_av_insert", count)?;
        if count != 1 {
            return Err(CallError::new(library, "fi_av_insert", FI_EINVAL));
        }
        self.peers.push(address);
        Ok(self.peers.len() - 1)
    }

    /// Returns the next unused region key in this domain, for providers that let the caller choose the key.
    pub(super) fn next_key(&mut self) -> u64 {
        self.last_key += 1;
        self.last_key
    }
}

fn endpoint_name(library: &Library, objects: &Objects) -> Result<Vec<u8>, CallError> {
    let mut name = vec![0; MAX_NAME_BYTES];
    let mut length = name.len();
    // SAFETY: the endpoint is open, and the library writes at most `length` bytes and updates `length`.
    let code = unsafe { calls::fi_getname(objects.endpoint.as_ptr(), name.as_mut_ptr().cast(), &mut length) };
    check(library, "fi_getname", code)?;
    if length > name.len() {
        return Err(CallError::new(library, "fi_getname", FI_ETOOSMALL));
    }
    name.truncate(length);
    Ok(name)
}

/// File descriptor of a queue that was opened for waiting.
fn wait_descriptor(objects: &Objects) -> Result<c_int, CallError> {
    let mut descriptor = -1;
    // SAFETY: the queue is open and was opened with FI_WAIT_FD; for any other wait object, the call fails.
    let code = unsafe { calls::cq_wait_descriptor(objects.queue.as_ptr(), &mut descriptor) };
    check(objects.info.library(), "fi_control(FI_GETWAIT)", code).map(|()| descriptor)
}
