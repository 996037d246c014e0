//! Ownership of UCX's objects: each object is destroyed exactly once, children before parents.

use super::callbacks::Origin;
use super::events::Events;
use super::stable::StableBox;
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
        // SAFETY: as the caller of `new` guarantees, no other code destroys the context, and all objects that were created
        // from it have been destroyed.
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
        // SAFETY: as the caller of `new` guarantees, no other code destroys the worker, and its context and the user data of
        // its callbacks still exist. The call also destroys the endpoints that have not been closed; nothing uses them
        // afterwards, because the `Rail`, their only user, has been dropped.
        unsafe { (self.library.functions().ucp_worker_destroy)(self.handle) };
    }
}

/// Registered memory, which is unregistered on drop.
pub(super) struct Registration {
    library: Arc<Library>,
    context: ucp_context_h,
    handle: ucp_mem_h,
    /// The registered memory; `None` if the library allocated it and frees it when it is unregistered.
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
        // SAFETY: as the caller of `new` guarantees, no other code removes the registration, its context still exists, and no
        // operation uses the memory. The memory is still allocated, because fields are dropped after this call.
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
    /// User data for callbacks: one for each post, receive and flush, and one for notifications.
    pub origins: StableBox<[Origin]>,
    /// User data for the endpoints' error handlers.
    pub endpoint_origins: Mutex<Vec<StableBox<Origin>>>,
    /// Headers of notifications and active messages in flight, by token.
    pub headers: StableBox<[std::cell::UnsafeCell<u64>]>,
    pub events: StableBox<Events>,
    pub regions: Mutex<Vec<Registration>>,
    pub context: Context,
}

// SAFETY: nothing in these objects is tied to a thread. The worker is created in SERIALIZED thread mode, so any thread
// may use it and destroy it, but only one at a time. Any thread may also use the context and the registrations. The
// queues, the payloads in them, the origins and the headers are plain memory, which the library and its callbacks access
// only while a thread calls the library with the worker. The receives in a queue refer to memory that `regions` keeps. The
// objects are destroyed once, by the thread that drops the last `Arc`, which synchronizes with the threads that dropped
// the others.
unsafe impl Send for Objects {}
// SAFETY: `RailRegion`s and memory that the library allocated hold the objects only to keep them open, and access no
// field. The `Rail` is the only other holder. It is not `Sync` and every one of its methods that calls the library,
// uses the queues, or writes headers requires an exclusive reference, so only one thread at a time does so. The mutexes
// may be used by any thread.
unsafe impl Sync for Objects {}

impl Objects {
    pub(super) fn library(&self) -> &Arc<Library> {
        self.context.library()
    }
}
