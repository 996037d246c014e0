//! Declarations that are newer than the 1.13 headers. The documentation of each declaration names the release that
//! introduced it.
//!
//! Source: `src/ucp/api/ucp.h` of the named release.

use std::ffi::{c_char, c_void};

/// Bit of [`ep_attr::field_mask`] for [`ep_attr::transports`]. Since 1.14; 1.13 ignores the bit and writes nothing.
pub const UCP_EP_ATTR_FIELD_TRANSPORTS: u64 = 1 << 3;

/// `ucp_transport_entry_t`, since 1.14: one lane of an endpoint.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TransportEntry {
    /// Transport name, such as `tcp`; null if the library did not fill the entry.
    pub transport_name: *const c_char,
    /// Device name, such as `lo`; empty for a connection manager lane.
    pub device_name: *const c_char,
}

impl TransportEntry {
    /// Entry that the library has not filled.
    pub const EMPTY: Self = Self {
        transport_name: std::ptr::null(),
        device_name: std::ptr::null(),
    };
}

/// `ucp_transports_t`, since 1.14.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Transports {
    /// Array that the library fills.
    pub entries: *mut TransportEntry,
    /// Number of entries: the capacity before the call, and the number of lanes after it.
    pub num_entries: u32,
    /// Size of an entry in bytes, so that later releases may append fields to it.
    pub entry_size: usize,
}

/// `ucp_ep_attr_t` with the fields that 1.14 and 1.18 appended.
#[repr(C)]
#[allow(non_camel_case_types, reason = "named after the C type")]
pub struct ep_attr {
    /// Fields in the 1.13 headers.
    pub base: crate::bindings::ucp_ep_attr,
    /// Lanes of the endpoint, since 1.14.
    pub transports: Transports,
    /// User data of the endpoint, since 1.18.
    pub user_data: *mut c_void,
}
