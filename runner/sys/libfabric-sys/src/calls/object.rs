//! Functions for all objects: close, control and bind.

use super::through_table;
use crate::bindings::fid;
use std::ffi::{c_int, c_void};

through_table! {
    /// `fi_close`: returns `-FI_EBUSY` while objects that were created from `object` are still open.
    fn fi_close(object: *mut fid) -> c_int = ops.close;
    /// `fi_control`.
    fn fi_control(object: *mut fid, command: c_int, argument: *mut c_void) -> c_int = ops.control;
    /// `fi_ep_bind`, `fi_mr_bind` and the like: binds `other` to `object`.
    fn fi_bind(object: *mut fid, other: *mut fid, flags: u64) -> c_int = ops.bind;
}
