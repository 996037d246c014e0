//! Counter.

use super::through_table;
use crate::bindings::{fi_cntr_attr, fid_cntr, fid_domain};
use std::ffi::{c_int, c_void};

through_table! {
    /// `fi_cntr_open`.
    fn fi_cntr_open(domain: *mut fid_domain, attr: *mut fi_cntr_attr, counter: *mut *mut fid_cntr,
        context: *mut c_void) -> c_int = ops.cntr_open;
    /// `fi_cntr_read`: operations that succeeded.
    fn fi_cntr_read(counter: *mut fid_cntr) -> u64 = ops.read;
    /// `fi_cntr_readerr`: operations that failed.
    fn fi_cntr_readerr(counter: *mut fid_cntr) -> u64 = ops.readerr;
}
