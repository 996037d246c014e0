//! Opens one rail: fabric, domain, address vector, completion queue and endpoint.

use super::info::Info;
use super::objects::{Closable, Context, Objects, Owned};
use super::rail::{Rail, RailConfig};
use super::{CallError, check};
use libfabric_sys::bindings::{
    FI_AV_TABLE, FI_CQ_FORMAT_DATA, FI_EINVAL, FI_RECV, FI_TRANSMIT, FI_WAIT_FD, FI_WAIT_NONE, fi_av_attr,
    fi_cq_attr, fid_av, fid_cq, fid_domain, fid_ep,
};
use libfabric_sys::{Library, Padded, calls};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

impl Rail {
    /// Opens all objects of the rail and enables the endpoint.
    ///
    /// # Errors
    ///
    /// Returns the failed call. Objects that had already been opened are closed.
    pub(in crate::transport::libfabric) fn open(
        mut info: Info,
        config: RailConfig,
    ) -> Result<Self, CallError> {
        let attributes = info.attributes();
        info.clear_default_flags();
        let library = Arc::clone(info.library());
        // Locals are dropped in reverse order, so an early return closes children before parents.
        let fabric = open_fabric(&library, &info)?;
        let domain: Owned<fid_domain> = open_object(&library, "fi_domain", |out| {
            // SAFETY: the fabric is open, and the info is from the same library.
            unsafe { calls::fi_domain(fabric.as_ptr(), info.as_ptr(), out, std::ptr::null_mut()) }
        })?;
        let addresses = open_addresses(&library, &domain, config)?;
        let queue = open_queue(&library, &domain, config)?;
        let endpoint: Owned<fid_ep> = open_object(&library, "fi_endpoint", |out| {
            // SAFETY: the domain is open, and the info is from the same library.
            unsafe { calls::fi_endpoint(domain.as_ptr(), info.as_ptr(), out, std::ptr::null_mut()) }
        })?;
        if config.forbid_shared_memory {
            super::options::forbid_shared_memory(&library, &endpoint)?;
        }
        if config.require_peer_to_peer {
            super::options::require_peer_to_peer(&library, &endpoint)?;
        }
        // SAFETY: the endpoint and the address vector are open and belong to the same domain.
        let code = unsafe { calls::fi_bind(endpoint.header(), addresses.header(), 0) };
        check(&library, "fi_ep_bind(av)", code)?;
        // SAFETY: the endpoint and the queue are open and belong to the same domain.
        let code = unsafe { calls::fi_bind(endpoint.header(), queue.header(), FI_TRANSMIT | FI_RECV) };
        check(&library, "fi_ep_bind(cq)", code)?;
        // SAFETY: the endpoint is open, and all required objects are bound to it.
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
        Rail::new(objects, &attributes, config)
    }
}

/// Runs a call that opens an object, and takes ownership of the object.
pub(super) fn open_object<T: Closable>(
    library: &Library,
    call: &'static str,
    open: impl FnOnce(&mut *mut T) -> i32,
) -> Result<Owned<T>, CallError> {
    let mut pointer: *mut T = std::ptr::null_mut();
    check(library, call, open(&mut pointer))?;
    let pointer = NonNull::new(pointer).ok_or_else(|| CallError::new(library, call, FI_EINVAL))?;
    // SAFETY: the call succeeded, so the object is open, and no other code has its pointer. Callers drop it before its
    // parent.
    Ok(unsafe { Owned::new(pointer) })
}

fn open_fabric(
    library: &Library,
    info: &Info,
) -> Result<Owned<libfabric_sys::bindings::fid_fabric>, CallError> {
    open_object(library, "fi_fabric", |out| {
        // SAFETY: the info is live and from this library.
        let attr = unsafe { (*info.as_ptr()).fabric_attr };
        // SAFETY: the attribute belongs to that info.
        unsafe { library.open_fabric(attr, out) }
    })
}

fn open_addresses(
    library: &Library,
    domain: &Owned<fid_domain>,
    config: RailConfig,
) -> Result<Owned<fid_av>, CallError> {
    // SAFETY: the struct consists of integers and pointers.
    let mut attr = unsafe { Padded::<fi_av_attr>::zeroed() };
    attr.fields_mut().type_ = FI_AV_TABLE;
    attr.fields_mut().count = config.peers;
    open_object(library, "fi_av_open", |out| {
        // SAFETY: the domain is open, and the attribute is valid during the call.
        unsafe { calls::fi_av_open(domain.as_ptr(), attr.as_mut_ptr(), out, std::ptr::null_mut()) }
    })
}

/// Opens a queue with room for the completions of all posts and receives, and of writes with immediate data from all
/// peers.
fn open_queue(
    library: &Library,
    domain: &Owned<fid_domain>,
    config: RailConfig,
) -> Result<Owned<fid_cq>, CallError> {
    // SAFETY: the struct consists of integers and pointers.
    let mut attr = unsafe { Padded::<fi_cq_attr>::zeroed() };
    attr.fields_mut().size = config.depth.saturating_mul(2 + config.peers.max(1));
    attr.fields_mut().format = FI_CQ_FORMAT_DATA;
    attr.fields_mut().wait_obj = if config.uses_wait {
        FI_WAIT_FD
    } else {
        FI_WAIT_NONE
    };
    open_object(library, "fi_cq_open", |out| {
        // SAFETY: the domain is open, and the attribute is valid during the call.
        unsafe { calls::fi_cq_open(domain.as_ptr(), attr.as_mut_ptr(), out, std::ptr::null_mut()) }
    })
}
