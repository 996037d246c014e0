//! Ownership of libfabric's objects: each is closed once, children before parents.

use super::info::Info;
use crate::memory::Memory;
use libfabric_sys::bindings::{fi_context2, fid, fid_av, fid_cq, fid_domain, fid_ep, fid_fabric, fid_mr};
use libfabric_sys::calls;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

/// Kinds of objects, all of which begin with the header that `fi_close` takes.
///
/// # Safety
///
/// The first field is a `fid`.
pub(super) unsafe trait Closable {}
// SAFETY: the struct begins with its `fid`, as do all below (rdma/fabric.h and the headers it names).
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

/// An open object, closed when dropped.
#[derive(Debug)]
pub(super) struct Owned<T: Closable>(NonNull<T>);

impl<T: Closable> Owned<T> {
    /// # Safety
    ///
    /// An open object that nobody else closes, and that is dropped before its parent.
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
        // SAFETY: open until here; whoever holds this value drops it on one thread and before the parent.
        let code = unsafe { calls::fi_close(self.header()) };
        if code != 0 {
            let kind = std::any::type_name::<T>();
            tracing::error!(
                kind,
                code,
                "fi_close refused: something made from this object is still open"
            );
        }
        debug_assert_eq!(code, 0, "fi_close({})", std::any::type_name::<T>());
    }
}

/// Where a provider keeps its notes about an operation in flight (`FI_CONTEXT`, `FI_CONTEXT2`).
#[repr(C)]
pub(super) struct Context(UnsafeCell<fi_context2>);

impl Context {
    pub(super) fn new() -> Self {
        Self(UnsafeCell::new(fi_context2 {
            internal: [std::ptr::null_mut(); 8],
        }))
    }
}

/// Memory that the provider was told of, and the region it made of it.
pub(super) struct Registered {
    /// Held to be closed, before the memory is freed.
    pub _region: Owned<fid_mr>,
    pub _memory: Arc<Memory>,
}

/// Everything one rail has open. The order of the fields is the order in which they are closed.
///
/// Regions stay registered, and their memory stays, until the endpoint is closed: until then a peer may be writing
/// into it.
pub(super) struct Objects {
    pub endpoint: Owned<fid_ep>,
    pub queue: Owned<fid_cq>,
    pub addresses: Owned<fid_av>,
    /// One for each post in flight, then one for each receive.
    pub contexts: Box<[Context]>,
    pub regions: Mutex<Vec<Registered>>,
    pub domain: Owned<fid_domain>,
    pub fabric: Owned<fid_fabric>,
    pub info: Info,
}

// SAFETY: the objects are opened for FI_THREAD_DOMAIN: any thread may use them, one at a time. The only user is the
// one `Rail` that holds them, by exclusive reference; a `Part` holds them too, and only keeps them from being
// closed. Closing happens once, when the last holder goes, and then there is no user.
unsafe impl Send for Objects {}
// SAFETY: as above; what a shared reference reaches without a `Rail` is the mutex and plain numbers.
unsafe impl Sync for Objects {}

impl Objects {
    pub(super) fn context(&self, slot: usize) -> *mut std::ffi::c_void {
        self.contexts[slot].0.get().cast()
    }

    /// Which slot a context pointer belongs to; nothing for a pointer that is not from here.
    pub(super) fn slot(&self, context: *const std::ffi::c_void) -> Option<usize> {
        let offset = context.addr().checked_sub(self.contexts.as_ptr().addr())?;
        let slot = offset / size_of::<Context>();
        (slot < self.contexts.len() && offset % size_of::<Context>() == 0).then_some(slot)
    }
}
