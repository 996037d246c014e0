//! Ownership of UCX's objects: each object is destroyed exactly once, children before parents.

use super::callbacks::{Events, Origin};
use crate::memory::Memory;
use std::sync::{Arc, Mutex};
use ucx_sys::Library;
use ucx_sys::bindings::{ucp_context_h, ucp_mem_h, ucp_worker_h};

/// Owned context.
pub(super) struct Context {
    library: Arc<Library>,
    handle: ucp_context_h,
}

impl Context {
    /// # Safety
    ///
    /// `handle` must be a context of `library` that no other code destroys, and all objects that were created from it
    /// must be destroyed before the returned value is dropped.
    pub(super) unsafe fn new(library: Arc<Library>, handle: ucp_context_h) -> Self {
        Self { library, handle }
    }

    pub(super) fn library(&self) -> &Arc<Library> {
        &self.library
    }

    pub(super) fn handle(&self) -> ucp_context_h {
        self.handle
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the contract of `new`.
        unsafe { (self.library.functions().ucp_cleanup)(self.handle) };
    }
}

/// Owned worker.
pub(super) struct Worker {
    library: Arc<Library>,
    handle: ucp_worker_h,
}

impl Worker {
    /// # Safety
    ///
    /// `handle` must be a worker of `library` that no other code destroys, and the returned value must be dropped
    /// before its context and before the user data of its callbacks.
    pub(super) unsafe fn new(library: Arc<Library>, handle: ucp_worker_h) -> Self {
        Self { library, handle }
    }

    pub(super) fn handle(&self) -> ucp_worker_h {
        self.handle
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // SAFETY: the contract of `new`. The call also destroys the remaining endpoints of the worker.
        unsafe { (self.library.functions().ucp_worker_destroy)(self.handle) };
    }
}

/// Registered memory, which is unregistered on drop.
pub(super) struct Registration {
    library: Arc<Library>,
    context: ucp_context_h,
    handle: ucp_mem_h,
    /// The registered memory; `None` if the library allocated it, and frees it when it is unregistered.
    _memory: Option<Arc<Memory>>,
}

impl Registration {
    /// # Safety
    ///
    /// `handle` must be a registration of `memory`, or of memory that the library allocated, in `context` that no other
    /// code removes, and the returned value must be dropped before the context and after all operations on the memory.
    pub(super) unsafe fn new(context: &Context, handle: ucp_mem_h, memory: Option<Arc<Memory>>) -> Self {
        Self {
            library: Arc::clone(&context.library),
            context: context.handle,
            handle,
            _memory: memory,
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: the contract of `new`; the memory is still allocated, because fields are dropped after this call.
        let status = unsafe { (self.library.functions().ucp_mem_unmap)(self.context, self.handle) };
        if status != 0 {
            tracing::error!(status, "ucp_mem_unmap failed");
        }
    }
}

/// Objects of one rail. They are destroyed in the order in which the fields are declared.
///
/// Memory stays registered until the worker is destroyed, because a peer may write to it until then.
pub(super) struct Objects {
    pub worker: Worker,
    /// User data of callbacks: one for each post, receive and flush, and one for notifications.
    pub origins: Box<[Origin]>,
    /// User data of the error handlers of endpoints.
    #[allow(clippy::vec_box, reason = "the library holds the addresses")]
    pub endpoint_origins: Mutex<Vec<Box<Origin>>>,
    /// Headers of notifications in flight, by token.
    pub headers: Box<[std::cell::UnsafeCell<u64>]>,
    pub events: Box<Events>,
    pub regions: Mutex<Vec<Registration>>,
    pub context: Context,
}

// SAFETY: the worker is created in the thread mode SERIALIZED, so any thread may use it, but only one at a time. Only the
// `Rail` that holds the objects uses them, through an exclusive reference; a `RailRegion` holds them only to keep them
// open. They are destroyed once, when the last holder is dropped, and then no other thread can use them.
unsafe impl Send for Objects {}
// SAFETY: only a `Rail` calls the library with these objects, and it requires an exclusive reference. Through a shared
// reference, other code accesses only the mutexes.
unsafe impl Sync for Objects {}

impl Objects {
    pub(super) fn library(&self) -> &Arc<Library> {
        self.context.library()
    }
}
