//! Ownership of one agent's objects: each object is destroyed exactly once, children before parents.

use super::{CallError, call, check};
use crate::memory::Memory;
use nixl_sys::{
    Agent, Backend, Library, MemoryList, MemoryType, NotificationMap, OptionalArguments, ParameterIterator,
    Parameters, PreparedList, RegistrationList, Request, SUCCESS, StringList, TransferList,
};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, Mutex};

/// Registered memory.
pub(super) struct Registration {
    pub list: RegistrationList,
    pub memory: Arc<Memory>,
}

/// Objects of one agent.
///
/// Memory stays registered until the agent is destroyed, because a peer may access it until then.
pub(super) struct Objects {
    pub library: Arc<Library>,
    pub agent: Agent,
    pub backend: Backend,
    /// Arguments that select the backend.
    pub arguments: OptionalArguments,
    /// Arguments that select the backend and notify the peer.
    pub notifying: OptionalArguments,
    pub notifications: NotificationMap,
    pub registrations: Mutex<Vec<Registration>>,
}

// SAFETY: only the `Rail` that holds the objects calls the library with them, through an exclusive reference; a
// `RailRegion` holds them only to keep them open. They are destroyed once, when the last holder is dropped.
unsafe impl Sync for Objects {}

impl Objects {
    /// Objects of an agent that has no backend yet.
    pub(super) fn new(library: &Arc<Library>, agent: Agent) -> Self {
        Self {
            library: Arc::clone(library),
            agent,
            backend: Backend::NULL,
            arguments: OptionalArguments::NULL,
            notifying: OptionalArguments::NULL,
            notifications: NotificationMap::NULL,
            registrations: Mutex::new(Vec::new()),
        }
    }

    /// Releases a request that is not in progress, or cancels it.
    pub(super) fn release_request(&self, request: Request) {
        if call!(self.library, release_xfer_req(self.agent, request)) == SUCCESS {
            call!(self.library, destroy_xfer_req(request));
        }
    }

    pub(super) fn release_prepared(&self, list: PreparedList) {
        call!(self.library, release_xfer_dlist_handle(self.agent, list));
    }

    pub(super) fn destroy_list(&self, list: TransferList) {
        call!(self.library, destroy_xfer_dlist(list));
    }

    /// Returns a backend's parameters, by name, and the memory types that it supports.
    pub(super) fn backend_parameters(
        &self,
        backend: Backend,
    ) -> Result<(Vec<MemoryType>, BTreeMap<String, String>), CallError> {
        let (mut types, mut parameters) = (MemoryList::NULL, Parameters::NULL);
        let status = call!(
            self.library,
            get_backend_params(self.agent, backend, &mut types, &mut parameters)
        );
        check("get_backend_params", status)?;
        Ok((
            take_memory_types(&self.library, types),
            take_parameters(&self.library, parameters),
        ))
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        let library = &self.library;
        let registrations = self
            .registrations
            .get_mut()
            .map_or_else(|poisoned| std::mem::take(poisoned.into_inner()), std::mem::take);
        for registration in registrations {
            let status = call!(
                library,
                deregister_mem(self.agent, registration.list, self.arguments)
            );
            if status != SUCCESS {
                tracing::error!(status, "deregister_mem failed");
                // The backend may still access the memory, so it stays allocated until the process exits.
                std::mem::forget(registration.memory);
            }
            call!(library, destroy_reg_dlist(registration.list));
        }
        // The library accepts the null handle of an object that was never created.
        call!(library, destroy_notif_map(self.notifications));
        call!(library, destroy_opt_args(self.notifying));
        call!(library, destroy_opt_args(self.arguments));
        call!(library, destroy_backend(self.backend));
        call!(library, destroy_agent(self.agent));
    }
}

/// Copies a list of strings and destroys it.
pub(super) fn take_strings(library: &Library, list: StringList) -> Vec<String> {
    let mut size = 0;
    call!(library, string_list_size(list, &mut size));
    let strings = (0..size).filter_map(|index| {
        let mut text = std::ptr::null();
        let status = call!(library, string_list_get(list, index, &mut text));
        (status == SUCCESS).then(|| copy_string(text)).flatten()
    });
    let strings = strings.collect();
    call!(library, destroy_string_list(list));
    strings
}

/// Copies a list of memory types and destroys it.
pub(super) fn take_memory_types(library: &Library, list: MemoryList) -> Vec<MemoryType> {
    let mut size = 0;
    call!(library, mem_list_size(list, &mut size));
    let types = (0..size).filter_map(|index| {
        let mut memory_type = 0;
        let status = call!(library, mem_list_get(list, index, &mut memory_type));
        (status == SUCCESS).then_some(memory_type)
    });
    let types = types.collect();
    call!(library, destroy_mem_list(list));
    types
}

/// Copies parameters and destroys them.
fn take_parameters(library: &Library, parameters: Parameters) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut iterator = ParameterIterator::NULL;
    if call!(library, params_create_iterator(parameters, &mut iterator)) == SUCCESS {
        loop {
            let (mut name, mut value, mut more) = (std::ptr::null(), std::ptr::null(), false);
            let status = call!(
                library,
                params_iterator_next(iterator, &mut name, &mut value, &mut more)
            );
            let (SUCCESS, Some(name), Some(value)) = (status, copy_string(name), copy_string(value)) else {
                break;
            };
            found.insert(name, value);
            if !more {
                break;
            }
        }
        call!(library, params_destroy_iterator(iterator));
    }
    call!(library, destroy_params(parameters));
    found
}

/// Copies a string that the library owns; `None` for a null pointer.
fn copy_string(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the library returned a C string, which lives at least until the next call with the same object.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Copies bytes that the library allocated with `malloc` and frees them.
pub(super) fn take_bytes(data: *mut c_void, length: usize) -> Vec<u8> {
    if data.is_null() {
        return Vec::new();
    }
    // SAFETY: the library returned a buffer of this length.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) }.to_vec();
    // SAFETY: the library allocated the buffer with malloc for the caller, and it is not used afterwards.
    unsafe { libc::free(data) };
    bytes
}

/// Copies a string that the library allocated with `malloc` and frees it; `None` for a null pointer.
pub(super) fn take_string(text: *mut c_char) -> Option<std::ffi::CString> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the library returned a C string.
    let owned = unsafe { CStr::from_ptr(text) }.to_owned();
    // SAFETY: the library allocated the string with malloc for the caller, and it is not used afterwards.
    unsafe { libc::free(text.cast()) };
    Some(owned)
}
