//! Functions for fabrics, domains and address vectors, except memory registration and queues.

use super::through_table;
use crate::bindings::{fi_addr_t, fi_av_attr, fi_info, fid_av, fid_domain, fid_ep, fid_fabric};
use std::ffi::{c_int, c_void};

through_table! {
    /// `fi_domain`.
    fn fi_domain(fabric: *mut fid_fabric, info: *mut fi_info, domain: *mut *mut fid_domain, context: *mut c_void)
        -> c_int = ops.domain;
    /// `fi_endpoint`.
    fn fi_endpoint(domain: *mut fid_domain, info: *mut fi_info, endpoint: *mut *mut fid_ep, context: *mut c_void)
        -> c_int = ops.endpoint;
    /// `fi_av_open`.
    fn fi_av_open(domain: *mut fid_domain, attr: *mut fi_av_attr, av: *mut *mut fid_av, context: *mut c_void)
        -> c_int = ops.av_open;
    /// `fi_av_insert`: inserts `count` addresses and returns the number inserted.
    fn fi_av_insert(av: *mut fid_av, addresses: *const c_void, count: usize, inserted: *mut fi_addr_t, flags: u64,
        context: *mut c_void) -> c_int = ops.insert;
    /// `fi_av_remove`.
    fn fi_av_remove(av: *mut fid_av, addresses: *mut fi_addr_t, count: usize, flags: u64) -> c_int = ops.remove;
}
