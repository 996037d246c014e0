//! Endpoint options, each asked only of a library that has it.

use super::objects::Owned;
use super::{CallError, check};
use crate::transport::libfabric::rules::offer::Offer;
use libfabric_sys::bindings::{FI_OPT_ENDPOINT, fid_ep};
use libfabric_sys::newer::{
    EndpointOption, FI_OPT_EFA_EMULATED_ATOMICS, FI_OPT_EFA_EMULATED_READ, FI_OPT_EFA_EMULATED_WRITE,
    FI_OPT_INJECT_MSG_SIZE, FI_OPT_INJECT_RMA_SIZE, FI_OPT_MAX_MSG_SIZE, FI_OPT_MAX_RMA_SIZE,
    FI_OPT_SHARED_MEMORY_PERMITTED,
};
use libfabric_sys::{Library, calls};

/// Largest lengths, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct Limits {
    /// Of an injected send.
    pub inject_send: usize,
    /// Of an injected RMA write.
    pub inject_write: usize,
    /// Of a send.
    pub message: usize,
    /// Of an RMA operation.
    pub rma: usize,
}

/// Whether the library is new enough for an option.
fn has(library: &Library, option: EndpointOption) -> bool {
    library.identity().version >= option.since
}

/// Limits by operation where the library tells them apart, else those of the endpoint.
pub(super) fn limits(library: &Library, endpoint: &Owned<fid_ep>, offer: &Offer) -> Limits {
    let size = |option, otherwise| get_size(library, endpoint, option).unwrap_or(otherwise);
    Limits {
        inject_send: size(FI_OPT_INJECT_MSG_SIZE, offer.inject_size),
        inject_write: size(FI_OPT_INJECT_RMA_SIZE, offer.inject_size),
        message: size(FI_OPT_MAX_MSG_SIZE, offer.max_message),
        rma: size(FI_OPT_MAX_RMA_SIZE, offer.max_message),
    }
}

/// What efa carries out by messages above the device.
pub(super) fn emulated(library: &Library, endpoint: &Owned<fid_ep>) -> Vec<String> {
    [
        (FI_OPT_EFA_EMULATED_READ, "read"),
        (FI_OPT_EFA_EMULATED_WRITE, "write"),
        (FI_OPT_EFA_EMULATED_ATOMICS, "atomics"),
    ]
    .into_iter()
    .filter(|(option, _)| get_bool(library, endpoint, *option) == Some(true))
    .map(|(_, name)| name.to_owned())
    .collect()
}

/// Tells the endpoint that peers on the same host are to be reached through the device. Libraries without the
/// option were checked for the environment variable before anything was opened.
pub(super) fn forbid_shared_memory(library: &Library, endpoint: &Owned<fid_ep>) -> Result<(), CallError> {
    if !has(library, FI_OPT_SHARED_MEMORY_PERMITTED) {
        return Ok(());
    }
    let permitted = false;
    // SAFETY: an open endpoint that was not enabled; the option takes one bool.
    let code = unsafe {
        calls::fi_setopt(
            endpoint.as_ptr(),
            FI_OPT_ENDPOINT,
            FI_OPT_SHARED_MEMORY_PERMITTED.number,
            std::ptr::from_ref(&permitted).cast(),
            size_of::<bool>(),
        )
    };
    check(library, "fi_setopt(FI_OPT_SHARED_MEMORY_PERMITTED)", code)
}

fn get_size(library: &Library, endpoint: &Owned<fid_ep>, option: EndpointOption) -> Option<usize> {
    get::<{ size_of::<usize>() }>(library, endpoint, option).map(usize::from_ne_bytes)
}

fn get_bool(library: &Library, endpoint: &Owned<fid_ep>, option: EndpointOption) -> Option<bool> {
    get::<1>(library, endpoint, option).map(|[byte]| byte != 0)
}

/// The bytes of an option that has exactly this size; nothing where the library or the provider does not know it.
fn get<const SIZE: usize>(
    library: &Library,
    endpoint: &Owned<fid_ep>,
    option: EndpointOption,
) -> Option<[u8; SIZE]> {
    if !has(library, option) {
        return None;
    }
    let mut value = [0_u8; SIZE];
    let mut length = SIZE;
    // SAFETY: an open endpoint; the library writes at most `length` bytes and says how many.
    let code = unsafe {
        calls::fi_getopt(
            endpoint.as_ptr(),
            FI_OPT_ENDPOINT,
            option.number,
            value.as_mut_ptr().cast(),
            &mut length,
        )
    };
    (code == 0 && length == SIZE).then_some(value)
}
