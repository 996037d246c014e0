//! Payload of an active message that has arrived.

use std::ffi::c_void;
use std::ptr::NonNull;

/// Payload that the library keeps until it is released or, for a rendezvous, fetched. The type is not `Copy`, because a
/// payload is released at most once and fetched at most once.
#[derive(Debug)]
pub(super) struct Payload {
    /// Address of the payload in host memory, or of the descriptor of a payload that is still in the peer's memory.
    data: NonNull<c_void>,
    /// Payload length in bytes.
    length: usize,
    is_rendezvous: bool,
}

impl Payload {
    /// Creates the payload that the library keeps at `data`.
    ///
    /// # Safety
    ///
    /// The library must keep `length` bytes at `data` until `ucp_am_data_release`, and only the worker that reported the
    /// payload may take it.
    pub(super) unsafe fn eager(data: NonNull<c_void>, length: usize) -> Self {
        Self {
            data,
            length,
            is_rendezvous: false,
        }
    }

    /// Creates the payload that is still in the peer's memory.
    ///
    /// # Safety
    ///
    /// `descriptor` must describe a payload of `length` bytes that has not been fetched, and only the worker that reported
    /// it may take it.
    pub(super) unsafe fn rendezvous(descriptor: NonNull<c_void>, length: usize) -> Self {
        Self {
            data: descriptor,
            length,
            is_rendezvous: true,
        }
    }

    /// Address of the payload in host memory, or of the descriptor of a payload that is still in the peer's memory.
    pub(super) fn data(&self) -> NonNull<c_void> {
        self.data
    }

    /// Payload length in bytes.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Whether the payload is still in the peer's memory.
    pub(super) fn is_rendezvous(&self) -> bool {
        self.is_rendezvous
    }
}
