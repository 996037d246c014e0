//! Memory registration, keys, descriptors.

use super::{fi_control, through_table};
use crate::bindings::{FI_ENABLE, fi_mr_attr, fid, fid_domain, fid_mr};
use std::ffi::{c_int, c_void};

through_table! {
    /// `fi_mr_reg`: host memory.
    fn fi_mr_reg(domain: *mut fid_domain, buffer: *const c_void, length: usize, access: u64, offset: u64, key: u64,
        flags: u64, region: *mut *mut fid_mr, context: *mut c_void) -> c_int = mr.reg;
    /// `fi_mr_regattr`: memory of any kind that the domain was opened for.
    fn fi_mr_regattr(domain: *mut fid_domain, attr: *const fi_mr_attr, flags: u64, region: *mut *mut fid_mr)
        -> c_int = mr.regattr;
}

/// `fi_mr_enable`: after binding to an endpoint, where the domain has `FI_MR_ENDPOINT`.
///
/// # Safety
///
/// The contract of [`crate::calls`].
pub unsafe fn fi_mr_enable(region: *mut fid_mr) -> c_int {
    // SAFETY: a region begins with its object header; FI_ENABLE takes no argument.
    unsafe { fi_control(region.cast::<fid>(), FI_ENABLE, std::ptr::null_mut()) }
}

/// `fi_mr_key`: what a peer names this region by; `u64::MAX` (`FI_KEY_NOTAVAIL`) where it has a raw key only.
///
/// # Safety
///
/// The contract of [`crate::calls`].
pub unsafe fn fi_mr_key(region: *mut fid_mr) -> u64 {
    // SAFETY: an open region.
    unsafe { (*region).key }
}

/// `fi_mr_desc`: what local operations name this region by; may be null.
///
/// # Safety
///
/// The contract of [`crate::calls`].
pub unsafe fn fi_mr_desc(region: *mut fid_mr) -> *mut c_void {
    // SAFETY: an open region.
    unsafe { (*region).mem_desc }
}
