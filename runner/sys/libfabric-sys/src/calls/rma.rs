//! Functions for one-sided reads and writes.

use super::through_table;
use crate::bindings::{fi_addr_t, fi_msg_rma, fid_ep};
use std::ffi::c_void;

through_table! {
    /// `fi_read`.
    fn fi_read(endpoint: *mut fid_ep, buffer: *mut c_void, length: usize, descriptor: *mut c_void, peer: fi_addr_t,
        address: u64, key: u64, context: *mut c_void) -> isize = rma.read;
    /// `fi_readmsg`: reads with flags.
    fn fi_readmsg(endpoint: *mut fid_ep, message: *const fi_msg_rma, flags: u64) -> isize = rma.readmsg;
    /// `fi_write`.
    fn fi_write(endpoint: *mut fid_ep, buffer: *const c_void, length: usize, descriptor: *mut c_void, peer: fi_addr_t,
        address: u64, key: u64, context: *mut c_void) -> isize = rma.write;
    /// `fi_writedata`: writes with immediate data, which the target receives as a completion.
    fn fi_writedata(endpoint: *mut fid_ep, buffer: *const c_void, length: usize, descriptor: *mut c_void, data: u64,
        peer: fi_addr_t, address: u64, key: u64, context: *mut c_void) -> isize = rma.writedata;
    /// `fi_writemsg`: writes with flags.
    fn fi_writemsg(endpoint: *mut fid_ep, message: *const fi_msg_rma, flags: u64) -> isize = rma.writemsg;
    /// `fi_inject_writedata`: the buffer is reusable on return, and no completion follows.
    fn fi_inject_writedata(endpoint: *mut fid_ep, buffer: *const c_void, length: usize, data: u64, peer: fi_addr_t,
        address: u64, key: u64) -> isize = rma.injectdata;
}
