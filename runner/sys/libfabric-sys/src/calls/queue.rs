//! Functions for completion queues.

use super::{fi_control, through_table};
use crate::bindings::{FI_GETWAIT, fi_cq_attr, fi_cq_err_entry, fid, fid_cq, fid_domain, fid_fabric};
use std::ffi::{c_char, c_int, c_void};

through_table! {
    /// `fi_cq_open`.
    fn fi_cq_open(domain: *mut fid_domain, attr: *mut fi_cq_attr, queue: *mut *mut fid_cq, context: *mut c_void)
        -> c_int = ops.cq_open;
    /// `fi_cq_read`: returns the number of entries read into `buffer`, `-FI_EAGAIN` if the queue is empty, or
    /// `-FI_EAVAIL` if the next entry is an error.
    fn fi_cq_read(queue: *mut fid_cq, buffer: *mut c_void, count: usize) -> isize = ops.read;
    /// `fi_cq_readerr`.
    fn fi_cq_readerr(queue: *mut fid_cq, buffer: *mut fi_cq_err_entry, flags: u64) -> isize = ops.readerr;
}

through_table! {
    /// `fi_trywait`: returns 0 if it is safe to sleep on the file descriptors of these objects, or `-FI_EAGAIN` if
    /// their queues must be read first.
    fn fi_trywait(fabric: *mut fid_fabric, objects: *mut *mut fid, count: c_int) -> c_int = ops.trywait;
}

/// `fi_control(FI_GETWAIT)`: gets the file descriptor of a queue that was opened with `FI_WAIT_FD`.
///
/// # Safety
///
/// The contract of [`crate::calls`].
pub unsafe fn cq_wait_descriptor(queue: *mut fid_cq, descriptor: &mut c_int) -> c_int {
    // SAFETY: a queue starts with its object header, and for FI_WAIT_FD the argument points to an int.
    unsafe {
        fi_control(
            queue.cast::<fid>(),
            FI_GETWAIT,
            std::ptr::from_mut(descriptor).cast(),
        )
    }
}

/// `fi_cq_strerror`: the provider's description of an error entry. May be null.
///
/// # Safety
///
/// The contract of [`crate::calls`]. The string is valid until the next call on the queue.
pub unsafe fn fi_cq_strerror(
    queue: *mut fid_cq,
    provider_errno: c_int,
    error_data: *const c_void,
    buffer: *mut c_char,
    length: usize,
) -> *const c_char {
    // SAFETY: the queue is open.
    let table = unsafe { (*queue).ops };
    // SAFETY: the pointer is null or the table of this queue.
    match unsafe { table.as_ref() }.and_then(|table| table.strerror) {
        // SAFETY: the caller fulfills the contract of this function.
        Some(call) => unsafe { call(queue, provider_errno, error_data, buffer, length) },
        None => std::ptr::null(),
    }
}
