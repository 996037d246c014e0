//! Lists the resources of a context and the lanes of an endpoint.

use super::objects::Context;
use super::stream::capture;
use crate::transport::ucx::rules::lanes::{self, Lane};
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use ucx_sys::Library;
use ucx_sys::bindings::{UCS_OK, ucp_ep_h};
use ucx_sys::newer::{TransportEntry, Transports, UCP_EP_ATTR_FIELD_TRANSPORTS, ep_attr};

/// Maximum number of lanes that are reported; UCX has at most 64.
const MAX_LANES: usize = 64;

/// Transports and devices that the context may use.
pub(super) fn resources(context: &Context) -> Vec<Lane> {
    let text = capture(|stream| {
        // SAFETY: the context and the stream are open.
        unsafe { (context.library().functions().ucp_context_print_info)(context.handle(), stream) };
    });
    lanes::parse_resources(&text)
}

/// An endpoint's lanes, from `ucp_ep_query`, or from the printed endpoint if the library is too old. Empty if neither
/// reports them.
///
/// # Safety
///
/// The endpoint must be an open endpoint of this library, and no other thread may use its worker.
pub(super) unsafe fn lanes(library: &Library, endpoint: ucp_ep_h) -> Vec<Lane> {
    // SAFETY: the caller fulfills the contract.
    let queried = unsafe { query(library, endpoint) };
    if !queried.is_empty() {
        return queried;
    }
    let text = capture(|stream| {
        // SAFETY: the endpoint and the stream are open.
        unsafe { (library.functions().ucp_ep_print_info)(endpoint, stream) };
    });
    lanes::parse(&text)
}

/// # Safety
///
/// Same as [`lanes`].
unsafe fn query(library: &Library, endpoint: ucp_ep_h) -> Vec<Lane> {
    let mut entries = [TransportEntry::EMPTY; MAX_LANES];
    // SAFETY: the struct consists of integers, addresses and pointers, for which zero is valid.
    let mut attributes: ep_attr = unsafe { MaybeUninit::zeroed().assume_init() };
    attributes.base.field_mask = UCP_EP_ATTR_FIELD_TRANSPORTS;
    attributes.transports = Transports {
        entries: entries.as_mut_ptr(),
        num_entries: MAX_LANES as u32,
        entry_size: size_of::<TransportEntry>(),
    };
    let pointer = std::ptr::from_mut(&mut attributes).cast();
    // SAFETY: the caller guarantees an open endpoint. The struct has all fields up to release 1.22, and 1.13, which does
    // not know the requested field, writes nothing.
    let status = unsafe { (library.functions().ucp_ep_query)(endpoint, pointer) };
    if status != UCS_OK {
        return Vec::new();
    }
    let mut lanes: Vec<_> = entries
        .iter()
        .filter_map(|entry| {
            Some(Lane {
                // SAFETY: the pointer is null or a string that the library owns and that lives as long as the endpoint.
                transport: unsafe { owned_string(entry.transport_name) }?,
                // SAFETY: as above.
                device: unsafe { owned_string(entry.device_name) }?,
            })
        })
        .collect();
    lanes.sort_unstable();
    lanes.dedup();
    lanes
}

/// # Safety
///
/// `text` must be null or a C string.
unsafe fn owned_string(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller guarantees that a pointer that is not null is a C string.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
