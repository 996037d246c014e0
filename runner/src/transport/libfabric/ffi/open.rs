//! Opens one rail: fabric, domain, addresses, queue, endpoint.

use super::info::Info;
use super::objects::{Closable, Context, Objects, Owned};
use super::rail::{Rail, RailConfig};
use super::{CallError, check};
use libfabric_sys::bindings::{
    FI_AV_TABLE, FI_CQ_FORMAT_DATA, FI_EINVAL, FI_RECV, FI_TRANSMIT, FI_WAIT_FD, FI_WAIT_NONE, fi_av_attr,
    fi_cq_attr, fid_av, fid_cq, fid_domain, fid_ep,
};
use libfabric_sys::{Grown, Library, calls};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

impl Rail {
    /// Opens everything and enables the endpoint.
    ///
    /// # Errors
    ///
    /// The call that the library refused. What was opened before it is closed.
    pub(in crate::transport::libfabric) fn open(
        mut info: Info,
        config: RailConfig,
    ) -> Result<Self, CallError> {
        let offer = info.offer();
        info.clear_default_flags();
        let library = Arc::clone(info.library());
        // Locals are dropped in reverse order, so an early return closes children before parents.
        let fabric = open_fabric(&library, &info)?;
        let domain: Owned<fid_domain> = opened(&library, "fi_domain", |out| {
            // SAFETY: an open fabric and an info of the same library.
            unsafe { calls::fi_domain(fabric.as_ptr(), info.as_ptr(), out, std::ptr::null_mut()) }
        })?;
        let addresses = open_addresses(&library, &domain, config)?;
        let queue = open_queue(&library, &domain, config)?;
        let endpoint: Owned<fid_ep> = opened(&library, "fi_endpoint", |out| {
            // SAFETY: an open domain and an info of the same library.
            unsafe { calls::fi_endpoint(domain.as_ptr(), info.as_ptr(), out, std::ptr::null_mut()) }
        })?;
        if config.forbid_shared_memory {
            super::options::forbid_shared_memory(&library, &endpoint)?;
        }
        // SAFETY: an open endpoint and address table of one domain.
        let code = unsafe { calls::fi_bind(endpoint.header(), addresses.header(), 0) };
        check(&library, "fi_ep_bind(av)", code)?;
        // SAFETY: an open endpoint and queue of one domain.
        let code = unsafe { calls::fi_bind(endpoint.header(), queue.header(), FI_TRANSMIT | FI_RECV) };
        check(&library, "fi_ep_bind(cq)", code)?;
        // SAFETY: an open endpoint with everything bound that it needs.
        check(&library, "fi_enable", unsafe {
            calls::fi_enable(endpoint.as_ptr())
        })?;
        let contexts = (0..2 * config.depth).map(|_| Context::new()).collect();
        let regions = Mutex::new(Vec::new());
        let objects = Objects {
            endpoint,
            queue,
            addresses,
            contexts,
            regions,
            domain,
            fabric,
            info,
        };
        Rail::new(objects, &offer, config)
    }
}

/// Runs a call that opens something and takes what it gave.
pub(super) fn opened<T: Closable>(
    library: &Library,
    call: &'static str,
    open: impl FnOnce(&mut *mut T) -> i32,
) -> Result<Owned<T>, CallError> {
    let mut pointer: *mut T = std::ptr::null_mut();
    check(library, call, open(&mut pointer))?;
    let pointer = NonNull::new(pointer).ok_or_else(|| CallError::new(library, call, FI_EINVAL))?;
    // SAFETY: the call succeeded, so this is open, and nobody else knows it.
    Ok(unsafe { Owned::new(pointer) })
}

fn open_fabric(
    library: &Library,
    info: &Info,
) -> Result<Owned<libfabric_sys::bindings::fid_fabric>, CallError> {
    opened(library, "fi_fabric", |out| {
        // SAFETY: a live info of this library.
        let attr = unsafe { (*info.as_ptr()).fabric_attr };
        // SAFETY: the attribute belongs to an info of this library.
        unsafe { library.open_fabric(attr, out) }
    })
}

fn open_addresses(
    library: &Library,
    domain: &Owned<fid_domain>,
    config: RailConfig,
) -> Result<Owned<fid_av>, CallError> {
    // SAFETY: integers and pointers.
    let mut attr = unsafe { Grown::<fi_av_attr>::zeroed() };
    attr.known_mut().type_ = FI_AV_TABLE;
    attr.known_mut().count = config.peers;
    opened(library, "fi_av_open", |out| {
        // SAFETY: an open domain; the attribute lives for the call.
        unsafe { calls::fi_av_open(domain.as_ptr(), attr.as_mut_ptr(), out, std::ptr::null_mut()) }
    })
}

/// Room for a completion of each post and each receive, and for writes with immediate data from all peers.
fn open_queue(
    library: &Library,
    domain: &Owned<fid_domain>,
    config: RailConfig,
) -> Result<Owned<fid_cq>, CallError> {
    // SAFETY: integers and pointers.
    let mut attr = unsafe { Grown::<fi_cq_attr>::zeroed() };
    attr.known_mut().size = config.depth.saturating_mul(2 + config.peers.max(1));
    attr.known_mut().format = FI_CQ_FORMAT_DATA;
    attr.known_mut().wait_obj = if config.sleeps { FI_WAIT_FD } else { FI_WAIT_NONE };
    opened(library, "fi_cq_open", |out| {
        // SAFETY: an open domain; the attribute lives for the call.
        unsafe { calls::fi_cq_open(domain.as_ptr(), attr.as_mut_ptr(), out, std::ptr::null_mut()) }
    })
}
