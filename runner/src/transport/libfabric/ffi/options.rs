//! Endpoint options. Each option is used only with a library that supports it.

use super::objects::Owned;
use super::{CallError, check};
use crate::transport::libfabric::rules::attributes::Attributes;
use crate::transport::libfabric::rules::offload::ReportedProperties;
use libfabric_sys::bindings::{FI_OPT_ENDPOINT, fid_ep};
use libfabric_sys::newer_constants::{
    EndpointOption, FI_HMEM_P2P_REQUIRED, FI_OPT_EFA_EMULATED_READ, FI_OPT_EFA_EMULATED_WRITE,
    FI_OPT_FI_HMEM_P2P, FI_OPT_INJECT_MSG_SIZE, FI_OPT_INJECT_RMA_SIZE, FI_OPT_MAX_MSG_SIZE,
    FI_OPT_MAX_RMA_SIZE, FI_OPT_SHARED_MEMORY_PERMITTED,
};
use libfabric_sys::{Library, calls};
use std::ffi::c_int;

/// Name of the call that fails if the provider cannot transfer GPU memory using peer-to-peer access.
pub(in crate::transport::libfabric) const PEER_TO_PEER_CALL: &str = "fi_setopt(FI_OPT_FI_HMEM_P2P)";

/// Size limits of operations, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct Limits {
    /// Maximum length of an injected send.
    pub inject_send: usize,
    /// Maximum length of an injected RMA write.
    pub inject_write: usize,
    /// Maximum length of a send.
    pub message: usize,
    /// Maximum length of an RMA operation.
    pub rma: usize,
}

/// Whether the library is new enough for an option.
fn is_supported(library: &Library, option: EndpointOption) -> bool {
    library.identity().version >= option.since
}

/// Reads the limits for each operation if the library reports them separately; otherwise, reads the endpoint's common
/// limits.
pub(super) fn limits(library: &Library, endpoint: &Owned<fid_ep>, attributes: &Attributes) -> Limits {
    let size = |option, default| get_size(library, endpoint, option).unwrap_or(default);
    Limits {
        inject_send: size(FI_OPT_INJECT_MSG_SIZE, attributes.inject_size),
        inject_write: size(FI_OPT_INJECT_RMA_SIZE, attributes.inject_size),
        message: size(FI_OPT_MAX_MSG_SIZE, attributes.max_message),
        rma: size(FI_OPT_MAX_RMA_SIZE, attributes.max_message),
    }
}

/// Reads whether efa emulates RMA reads and writes with messages instead of executing them on the device.
///
/// `emulates_reads` and `emulates_writes` are `None` for other providers, which do not have these options.
pub(super) fn reported_offload(library: &Library, endpoint: &Owned<fid_ep>) -> ReportedProperties {
    ReportedProperties {
        emulates_reads: get_bool(library, endpoint, FI_OPT_EFA_EMULATED_READ),
        emulates_writes: get_bool(library, endpoint, FI_OPT_EFA_EMULATED_WRITE),
        inline_bytes: None,
    }
}

/// Configures the endpoint to transfer GPU memory using peer-to-peer access only.
pub(super) fn require_peer_to_peer(library: &Library, endpoint: &Owned<fid_ep>) -> Result<(), CallError> {
    let required = FI_HMEM_P2P_REQUIRED;
    // SAFETY: the endpoint is open and not yet enabled, and the option takes one int.
    let code = unsafe {
        calls::fi_setopt(
            endpoint.as_ptr(),
            FI_OPT_ENDPOINT,
            FI_OPT_FI_HMEM_P2P.number,
            std::ptr::from_ref(&required).cast(),
            size_of::<c_int>(),
        )
    };
    check(library, PEER_TO_PEER_CALL, code)
}

/// Configures the endpoint to reach peers on the same host through the device, not through shared memory.
///
/// For libraries without the option, discovery has already checked the environment variable.
pub(super) fn forbid_shared_memory(library: &Library, endpoint: &Owned<fid_ep>) -> Result<(), CallError> {
    if !is_supported(library, FI_OPT_SHARED_MEMORY_PERMITTED) {
        return Ok(());
    }
    let permitted = false;
    // SAFETY: the endpoint is open and not yet enabled, and the option takes one bool.
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

/// Reads an option of exactly `SIZE` bytes; `None` if the library or the provider does not support it.
fn get<const SIZE: usize>(
    library: &Library,
    endpoint: &Owned<fid_ep>,
    option: EndpointOption,
) -> Option<[u8; SIZE]> {
    if !is_supported(library, option) {
        return None;
    }
    let mut value = [0_u8; SIZE];
    let mut length = SIZE;
    // SAFETY: the endpoint is open, and the library writes at most `length` bytes and updates `length`.
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
