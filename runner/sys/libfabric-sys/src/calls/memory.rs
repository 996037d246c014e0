//! Functions for memory registration, keys and descriptors.

use super::{fi_control, through_table};
use crate::bindings::{FI_ENABLE, fi_mr_attr, fid, fid_domain, fid_mr};
use std::ffi::{c_int, c_void};

through_table! {
    /// `fi_mr_reg`: registers host memory.
    fn fi_mr_reg(domain: *mut fid_domain, buffer: *const c_void, length: usize, access: u64, offset: u64, key: u64,
        flags: u64, region: *mut *mut fid_mr, context: *mut c_void) -> c_int = mr.reg;
    /// `fi_mr_regattr`: registers memory of any kind for which the domain was opened.
    fn fi_mr_regattr(domain: *mut fid_domain, attr: *const fi_mr_attr, flags: u64, region: *mut *mut fid_mr)
        -> c_int = mr.regattr;
}

/// `fi_mr_enable`: enables a region after it has been bound to an endpoint, if the domain has `FI_MR_ENDPOINT`.
///
/// # Safety
///
/// The contract of [`crate::calls`].
pub unsafe fn fi_mr_enable(region: *mut fid_mr) -> c_int {
    // SAFETY: a region starts with its object header, and FI_ENABLE takes no argument.
    unsafe { fi_control(region.cast::<fid>(), FI_ENABLE, std::ptr::null_mut()) }
}

/// `fi_mr_key`: key by which a peer addresses this region; `u64::MAX` (`FI_KEY_NOTAVAIL`) if it has only a raw key.
///
/// # Safety
///
/// The contract of [`crate::calls`].
pub unsafe fn fi_mr_key(region: *mut fid_mr) -> u64 {
    // SAFETY: the region is open.
    unsafe { (*region).key }
}

/// `fi_mr_desc`: descriptor of this region for local operations; may be null.
///
/// # Safety
///
/// The contract of [`crate::calls`].
pub unsafe fn fi_mr_desc(region: *mut fid_mr) -> *mut c_void {
    // SAFETY: the region is open.
    unsafe { (*region).mem_desc }
}
