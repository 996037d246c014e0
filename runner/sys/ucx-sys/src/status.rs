//! Decodes the pointer that UCX's nonblocking calls return: a status or a request. Performs no I/O.

use crate::bindings::{UCS_ERR_LAST, UCS_OK, ucs_status_ptr_t, ucs_status_t};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Result of a nonblocking call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestState {
    /// The operation has completed. The callback is not called.
    Completed,
    /// The operation is in progress. The callback is called with this request, which must then be freed.
    InProgress(NonNull<c_void>),
    /// The operation was not started. Contains the negative status.
    Failed(ucs_status_t),
}

/// Decodes the return value of a nonblocking call, like the `UCS_PTR_IS_ERR` and `UCS_PTR_STATUS` macros.
///
/// Errors are the addresses from `UCS_ERR_LAST` (-100) to -1, which no object has.
#[inline]
pub fn request_state(pointer: ucs_status_ptr_t) -> RequestState {
    let Some(request) = NonNull::new(pointer) else {
        return RequestState::Completed;
    };
    let value = pointer.addr().cast_signed();
    if (UCS_ERR_LAST as isize..UCS_OK as isize).contains(&value) {
        return RequestState::Failed(value as ucs_status_t);
    }
    RequestState::InProgress(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::UCS_ERR_NO_MEMORY;

    #[test]
    fn distinguishes_a_status_from_a_request() {
        assert_eq!(request_state(std::ptr::null_mut()), RequestState::Completed);
        let error = std::ptr::without_provenance_mut(usize::MAX - 3);
        assert_eq!(request_state(error), RequestState::Failed(UCS_ERR_NO_MEMORY));
        let first = std::ptr::without_provenance_mut(usize::MAX - 99);
        assert_eq!(request_state(first), RequestState::Failed(UCS_ERR_LAST));
        let mut object = 0_u64;
        let request = std::ptr::from_mut(&mut object).cast();
        assert_eq!(
            request_state(request),
            RequestState::InProgress(NonNull::new(request).unwrap())
        );
    }
}
