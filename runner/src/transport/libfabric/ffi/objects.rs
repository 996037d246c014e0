//! Ownership of libfabric's objects: each object is closed exactly once, children before parents.

use super::info::Info;
use crate::memory::Memory;
use libfabric_sys::bindings::{fi_context2, fid, fid_av, fid_cq, fid_domain, fid_ep, fid_fabric, fid_mr};
use libfabric_sys::calls;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

/// Object types that start with the header that `fi_close` takes.
///
/// # Safety
///
/// The first field must be a `fid`.
pub(super) unsafe trait Closable {}
// SAFETY: this struct and each of the structs below start with their `fid` (rdma/fabric.h and the headers that it
// includes).
unsafe impl Closable for fid_fabric {}
// SAFETY: as above.
unsafe impl Closable for fid_domain {}
// SAFETY: as above.
unsafe impl Closable for fid_av {}
// SAFETY: as above.
unsafe impl Closable for fid_cq {}
// SAFETY: as above.
unsafe impl Closable for fid_ep {}
// SAFETY: as above.
unsafe impl Closable for fid_mr {}

/// Open object that is closed on drop.
#[derive(Debug)]
pub(super) struct Owned<T: Closable>(NonNull<T>);

impl<T: Closable> Owned<T> {
    /// # Safety
    ///
    /// `pointer` must be an open object that no other code closes, and the returned value must be dropped before the
    /// object's parent.
    pub(super) unsafe fn new(pointer: NonNull<T>) -> Self {
        Self(pointer)
    }

    pub(super) fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }

    pub(super) fn header(&self) -> *mut fid {
        self.0.as_ptr().cast()
    }
}

impl<T: Closable> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the object is open until here, and the contract of `new` guarantees that its parent is still open.
        let code = unsafe { calls::fi_close(self.header()) };
        if code != 0 {
            let kind = std::any::type_name::<T>();
            tracing::error!(
                kind,
                code,
                "fi_close failed: an object that was created from this object is still open"
            );
        }
        debug_assert_eq!(code, 0, "fi_close({})", std::any::type_name::<T>());
    }
}

/// Memory in which a provider stores the state of an operation in flight (`FI_CONTEXT`, `FI_CONTEXT2`).
#[repr(C)]
pub(super) struct Context(UnsafeCell<fi_context2>);

impl Context {
    pub(super) fn new() -> Self {
        Self(UnsafeCell::new(fi_context2 {
            internal: [std::ptr::null_mut(); 8],
        }))
    }
}

/// Registered memory and its region.
pub(super) struct RegisteredMemory {
    /// This field is declared before the memory, so that the region is closed before the memory is freed.
    pub _region: Owned<fid_mr>,
    pub _memory: Arc<Memory>,
}

/// Open objects of one rail. They are closed in the order in which the fields are declared.
///
/// Regions stay registered, and their memory stays allocated, until the endpoint is closed, because a peer may write to
/// them until then.
pub(super) struct Objects {
    pub endpoint: Owned<fid_ep>,
    pub queue: Owned<fid_cq>,
    pub addresses: Owned<fid_av>,
    /// One context for each post in flight, followed by one for each receive.
    pub contexts: Box<[Context]>,
    pub regions: Mutex<Vec<RegisteredMemory>>,
    pub domain: Owned<fid_domain>,
    pub fabric: Owned<fid_fabric>,
    pub info: Info,
}

// SAFETY: the objects are opened with FI_THREAD_DOMAIN, so any thread may use them, but only one at a time. Only the
// `Rail` that holds them uses them, through an exclusive reference; a `RailRegion` holds them only to keep them open.
// They are closed once, when the last holder is dropped, and then no other thread can use them.
unsafe impl Send for Objects {}
// SAFETY: only a `Rail` calls the library with these objects, and it requires an exclusive reference. Through a shared
// reference, other code accesses only the mutex and plain integers.
unsafe impl Sync for Objects {}

impl Objects {
    pub(super) fn context(&self, slot: usize) -> *mut std::ffi::c_void {
        self.contexts[slot].0.get().cast()
    }

    /// Slot that a context pointer belongs to; `None` if it does not point to one of these contexts.
    pub(super) fn slot(&self, context: *const std::ffi::c_void) -> Option<usize> {
        let offset = context.addr().checked_sub(self.contexts.as_ptr().addr())?;
        let slot = offset / size_of::<Context>();
        (slot < self.contexts.len() && offset % size_of::<Context>() == 0).then_some(slot)
    }
}
