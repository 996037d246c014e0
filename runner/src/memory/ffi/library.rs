//! Memory that a fabric library allocated and frees.
#![allow(
    unsafe_code,
    reason = "memory that other processes and devices write to has no safe interface"
)]

use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use super::mapping::Span;

/// A range of bytes that belongs to a fabric library.
pub(crate) struct LibraryMemory {
    address: NonNull<u8>,
    length: usize,
    /// Objects of the library that free the memory when they are dropped.
    _owner: Arc<dyn Send + Sync>,
}

// SAFETY: The memory belongs to the process, not to a thread, and the owner may be used and dropped by any thread.
// `LibraryMemory` returns no references to bytes, only `Span`, whose documentation describes the effect of a race on
// copies.
unsafe impl Send for LibraryMemory {}
// SAFETY: The reasoning for `Send` applies, and no method modifies the struct.
unsafe impl Sync for LibraryMemory {}

impl LibraryMemory {
    /// # Safety
    ///
    /// Until `owner` is dropped, the `length` bytes at `address` must be mapped, readable and writable, and no
    /// reference to them may exist.
    pub(crate) unsafe fn new(address: NonNull<u8>, length: usize, owner: Arc<dyn Send + Sync>) -> Self {
        Self {
            address,
            length,
            _owner: owner,
        }
    }

    /// Length in bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Address of the first byte.
    pub(crate) fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    /// Address range of the bytes.
    pub(crate) fn range(&self) -> Range<u64> {
        let start = self.address.as_ptr().addr() as u64;
        start..start + self.length as u64
    }

    /// Returns a span of `length` bytes at `offset`; `None` if the memory is too short.
    pub(crate) fn span(&self, offset: usize, length: usize) -> Option<Span<'_>> {
        // SAFETY: `new` requires that the bytes stay valid until the owner is dropped, and `&self` keeps the owner
        // alive.
        let whole = unsafe { Span::new(self.address, self.length) };
        whole.subspan(offset as u64, length as u64)
    }
}

impl fmt::Debug for LibraryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibraryMemory")
            .field("address", &self.address)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
