//! Functions for two-sided messages.

use super::through_table;
use crate::bindings::{fi_addr_t, fi_msg, fid_ep};
use std::ffi::c_void;

through_table! {
    /// `fi_recv`.
    fn fi_recv(endpoint: *mut fid_ep, buffer: *mut c_void, length: usize, descriptor: *mut c_void, source: fi_addr_t,
        context: *mut c_void) -> isize = msg.recv;
    /// `fi_recvmsg`.
    fn fi_recvmsg(endpoint: *mut fid_ep, message: *const fi_msg, flags: u64) -> isize = msg.recvmsg;
    /// `fi_send`.
    fn fi_send(endpoint: *mut fid_ep, buffer: *const c_void, length: usize, descriptor: *mut c_void, peer: fi_addr_t,
        context: *mut c_void) -> isize = msg.send;
    /// `fi_senddata`: sends with immediate data.
    fn fi_senddata(endpoint: *mut fid_ep, buffer: *const c_void, length: usize, descriptor: *mut c_void, data: u64,
        peer: fi_addr_t, context: *mut c_void) -> isize = msg.senddata;
    /// `fi_sendmsg`: sends with flags.
    fn fi_sendmsg(endpoint: *mut fid_ep, message: *const fi_msg, flags: u64) -> isize = msg.sendmsg;
    /// `fi_inject`: the buffer is reusable on return, and no completion follows.
    fn fi_inject(endpoint: *mut fid_ep, buffer: *const c_void, length: usize, peer: fi_addr_t) -> isize = msg.inject;
    /// `fi_injectdata`: like `fi_inject`, with immediate data.
    fn fi_injectdata(endpoint: *mut fid_ep, buffer: *const c_void, length: usize, data: u64, peer: fi_addr_t)
        -> isize = msg.injectdata;
}
