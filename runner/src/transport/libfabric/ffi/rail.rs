//! One open rail and what is known of it. Used by one thread at a time: every method that reaches the library takes
//! it exclusively.

use super::objects::Objects;
use super::options::{self, Limits};
use super::{CallError, check};
use crate::transport::libfabric::rules::offer::Offer;
use crate::transport::{MAX_ADDRESS_BYTES, Peer};
use libfabric_sys::bindings::{FI_EINVAL, FI_ETOOSMALL, fi_addr_t};
use libfabric_sys::newer::FI_ADDR_UNSPEC;
use libfabric_sys::{Library, calls};
use std::ffi::c_int;
use std::sync::Arc;

/// What a rail is opened with, beyond what its info says.
#[derive(Clone, Copy, Debug)]
pub(in crate::transport::libfabric) struct RailConfig {
    /// Posts in flight, and as many receives.
    pub depth: usize,
    /// Peers that will be connected.
    pub peers: usize,
    /// Whether [`Rail::sleep_on`](super::sleep_on) will be used.
    pub sleeps: bool,
    /// Whether the endpoint must be told to stay off shared memory.
    pub forbid_shared_memory: bool,
}

/// A receive that is posted, so that it can be posted again when a write with immediate data took it.
#[derive(Clone, Copy)]
pub(super) struct PostedReceive {
    pub pointer: *mut u8,
    pub length: usize,
    pub descriptor: *mut std::ffi::c_void,
}

impl PostedReceive {
    const NONE: Self = Self {
        pointer: std::ptr::null_mut(),
        length: 0,
        descriptor: std::ptr::null_mut(),
    };
}

/// One endpoint on a domain of its own.
pub(in crate::transport::libfabric) struct Rail {
    pub(super) objects: Arc<Objects>,
    pub(super) depth: usize,
    pub(super) limits: Limits,
    pub(super) mr_mode: i32,
    /// Whether a write with immediate data takes a receive.
    pub(super) immediate_takes_receive: bool,
    /// By slot: posts first, then receives. Keeps a context from being used twice at a time.
    pub(super) in_flight: Box<[bool]>,
    /// By token.
    pub(super) receives: Box<[PostedReceive]>,
    /// Slots of receives that a write with immediate data took and that must be posted again.
    pub(super) owed_receives: Vec<usize>,
    pub(super) peers: Vec<fi_addr_t>,
    /// What to sleep on, where the queue was opened for that.
    pub(super) wait_descriptor: Option<c_int>,
    last_key: u64,
    name: Vec<u8>,
    emulated: Vec<String>,
}

// SAFETY: the raw pointers are addresses of registered memory and opaque descriptors, which `objects` keeps valid and
// which only the library looks into. Everything else is Send.
unsafe impl Send for Rail {}

impl Rail {
    pub(super) fn new(objects: Objects, offer: &Offer, config: RailConfig) -> Result<Self, CallError> {
        let library = Arc::clone(objects.info.library());
        let name = endpoint_name(&library, &objects)?;
        Ok(Self {
            depth: config.depth,
            limits: options::limits(&library, &objects.endpoint, offer),
            emulated: options::emulated(&library, &objects.endpoint),
            mr_mode: offer.mr_mode,
            immediate_takes_receive: offer.immediate_takes_receive(),
            in_flight: vec![false; 2 * config.depth].into(),
            receives: vec![PostedReceive::NONE; config.depth].into(),
            owed_receives: Vec::with_capacity(config.depth),
            peers: Vec::with_capacity(config.peers),
            wait_descriptor: config.sleeps.then(|| wait_descriptor(&objects)).transpose()?,
            last_key: 0,
            name,
            objects: Arc::new(objects),
        })
    }

    /// The endpoint's name, for peers.
    pub(in crate::transport::libfabric) fn name(&self) -> &[u8] {
        &self.name
    }

    pub(in crate::transport::libfabric) fn limits(&self) -> Limits {
        self.limits
    }

    /// Operations that are carried out in software above the device, where the provider says.
    pub(in crate::transport::libfabric) fn emulated(&self) -> &[String] {
        &self.emulated
    }

    /// Makes a peer known by its endpoint name, padded as [`crate::transport::libfabric::rules::address::padded`]
    /// does.
    ///
    /// # Errors
    ///
    /// Where the library refuses it.
    pub(in crate::transport::libfabric) fn connect(
        &mut self,
        name: &[u8; 2 * MAX_ADDRESS_BYTES],
    ) -> Result<Peer, CallError> {
        let library = self.objects.info.library();
        let mut address: fi_addr_t = FI_ADDR_UNSPEC;
        // SAFETY: an open table; the name is longer than any address format, and one address is asked for.
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

    /// A key that no region of this domain has, for providers that let the caller choose.
    pub(super) fn next_key(&mut self) -> u64 {
        self.last_key += 1;
        self.last_key
    }
}

fn endpoint_name(library: &Library, objects: &Objects) -> Result<Vec<u8>, CallError> {
    let mut name = vec![0; MAX_ADDRESS_BYTES];
    let mut length = name.len();
    // SAFETY: an open endpoint; the library writes at most `length` bytes and says how many.
    let code = unsafe { calls::fi_getname(objects.endpoint.as_ptr(), name.as_mut_ptr().cast(), &mut length) };
    check(library, "fi_getname", code)?;
    if length > name.len() {
        return Err(CallError::new(library, "fi_getname", FI_ETOOSMALL));
    }
    name.truncate(length);
    Ok(name)
}

/// The file descriptor of a queue that was opened for sleeping.
fn wait_descriptor(objects: &Objects) -> Result<c_int, CallError> {
    let mut descriptor = -1;
    // SAFETY: open queue, opened for FI_WAIT_FD (anything else is refused by the provider).
    let code = unsafe { calls::fi_cq_wait_fd(objects.queue.as_ptr(), &mut descriptor) };
    check(objects.info.library(), "fi_control(FI_GETWAIT)", code).map(|()| descriptor)
}
