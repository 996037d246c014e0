//! Payload of an active message that has arrived.

use std::ffi::c_void;
use std::ptr::NonNull;

/// Payload of a message that waits for a receive.
#[derive(Debug)]
pub(super) enum Payload {
    /// The queues contain a copy of the payload, because the library does not keep it. Contains the length in bytes.
    Copied(usize),
    /// The library keeps the payload in host memory until it is released.
    Kept(Descriptor),
    /// The payload is still in the peer's memory (rendezvous), and must be fetched.
    Rendezvous(Descriptor),
}

/// Payload that the library keeps, or descriptor of a payload to fetch. The type is not `Copy`, because a payload is
/// released at most once and fetched at most once.
#[derive(Debug)]
pub(super) struct Descriptor {
    data: NonNull<c_void>,
    /// Payload length in bytes.
    length: usize,
}

impl Descriptor {
    /// Describes the payload at `data`, or the payload that the descriptor at `data` describes.
    ///
    /// # Safety
    ///
    /// The library must keep `data` until it is released or fetched, which only the worker that reported the payload may
    /// do. The payload must have `length` bytes.
    pub(super) unsafe fn new(data: NonNull<c_void>, length: usize) -> Self {
        Self { data, length }
    }

    /// Address that the library reported.
    pub(super) fn data(&self) -> NonNull<c_void> {
        self.data
    }

    /// Payload length in bytes.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Payload that the library keeps.
    ///
    /// # Safety
    ///
    /// The payload must be in host memory, and must not have been released.
    pub(super) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: the library keeps this many bytes.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr().cast_const().cast(), self.length) }
    }
}

impl Payload {
    /// Length in bytes.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Copied(length) => *length,
            Self::Kept(descriptor) | Self::Rendezvous(descriptor) => descriptor.length(),
        }
    }
}
