//! Functions that enable an endpoint, read its name, and access its options.

use super::{fi_control, through_table};
use crate::bindings::{FI_ENABLE, fid, fid_ep};
use std::ffi::{c_int, c_void};

/// `fi_enable`.
///
/// # Safety
///
/// The contract of [`crate::calls`].
pub unsafe fn fi_enable(endpoint: *mut fid_ep) -> c_int {
    // SAFETY: an endpoint starts with its object header, and FI_ENABLE takes no argument.
    unsafe { fi_control(endpoint.cast::<fid>(), FI_ENABLE, std::ptr::null_mut()) }
}

through_table! {
    /// `fi_getname`: returns `-FI_ETOOSMALL` and sets `length` to the required length if it was too short.
    fn fi_getname(endpoint: *mut fid_ep, address: *mut c_void, length: *mut usize) -> c_int = cm.getname;
    /// `fi_getopt`.
    fn fi_getopt(endpoint: *mut fid_ep, level: c_int, option: c_int, value: *mut c_void, length: *mut usize)
        -> c_int = ops.getopt;
    /// `fi_setopt`.
    fn fi_setopt(endpoint: *mut fid_ep, level: c_int, option: c_int, value: *const c_void, length: usize)
        -> c_int = ops.setopt;
}
