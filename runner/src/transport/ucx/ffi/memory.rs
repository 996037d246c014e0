//! Registers memory on one rail, and packs its keys for peers.

use super::objects::{Objects, Registration};
use super::rail::Rail;
use super::{CallError, check};
use crate::memory::Memory;
use crate::transport::PackedKey;
use crate::transport::ucx::rules::packing;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::{Arc, PoisonError};
use ucx_sys::bindings::{
    UCP_MEM_MAP_PARAM_FIELD_ADDRESS, UCP_MEM_MAP_PARAM_FIELD_LENGTH, UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
    UCS_MEMORY_TYPE_CUDA, UCS_MEMORY_TYPE_HOST, ucp_mem_h, ucp_mem_map_params_t,
};

/// Memory that is registered on one rail.
pub(in crate::transport::ucx) struct RailRegion {
    rail: Arc<Objects>,
    memory: Arc<Memory>,
    handle: ucp_mem_h,
    remote: PackedKey,
}

// SAFETY: the handle is an opaque value that the rail passes back to the library and never dereferences. All other
// fields are Send.
unsafe impl Send for RailRegion {}

/// Range of registered memory for a post.
#[derive(Clone, Copy)]
pub(in crate::transport::ucx) struct RegisteredRange<'a> {
    pub(super) pointer: *mut u8,
    pub(super) length: usize,
    pub(super) handle: ucp_mem_h,
    pub(super) rail: *const Objects,
    region: PhantomData<&'a RailRegion>,
}

impl RailRegion {
    /// Address and packed key that a peer uses to access the region.
    pub(in crate::transport::ucx) fn remote(&self) -> &PackedKey {
        &self.remote
    }

    /// Returns a range of the region; `None` if the range extends beyond the region.
    #[inline]
    pub(in crate::transport::ucx) fn range(&self, offset: u64, length: u64) -> Option<RegisteredRange<'_>> {
        let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
        if offset.checked_add(length)? > self.memory.length() {
            return None;
        }
        Some(RegisteredRange {
            pointer: self.memory.address().wrapping_add(offset),
            length,
            handle: self.handle,
            rail: Arc::as_ptr(&self.rail),
            region: PhantomData,
        })
    }
}

impl Rail {
    /// Registers memory for all operations. The memory stays registered until the rail is closed.
    ///
    /// # Errors
    ///
    /// Returns the failed call if the library refuses the memory.
    pub(in crate::transport::ucx) fn register(
        &mut self,
        memory: Arc<Memory>,
    ) -> Result<RailRegion, CallError> {
        let objects = Arc::clone(&self.objects);
        let (library, context) = (objects.library(), &objects.context);
        // SAFETY: the struct consists of integers and pointers, for which zero is valid.
        let mut params: ucp_mem_map_params_t = unsafe { MaybeUninit::zeroed().assume_init() };
        params.field_mask = u64::from(
            UCP_MEM_MAP_PARAM_FIELD_ADDRESS
                | UCP_MEM_MAP_PARAM_FIELD_LENGTH
                | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        );
        params.address = memory.address().cast();
        params.length = memory.length();
        // Only these two types have the same number in all releases.
        params.memory_type = if memory.is_device() {
            UCS_MEMORY_TYPE_CUDA
        } else {
            UCS_MEMORY_TYPE_HOST
        };
        let mut handle = std::ptr::null_mut();
        // SAFETY: the context is open, and the registration below keeps the memory allocated.
        let status = unsafe { (library.functions().ucp_mem_map)(context.handle(), &params, &mut handle) };
        check(library, "ucp_mem_map", status)?;
        // SAFETY: the memory was just registered. `Objects` drops the registration after the worker, whose operations
        // use the memory, and before the context.
        let registration = unsafe { Registration::new(context, handle, Arc::clone(&memory)) };
        let key = pack_key(&objects, handle)?;
        let remote = PackedKey {
            address: memory.address().addr() as u64,
            key,
        };
        objects
            .regions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(registration);
        Ok(RailRegion {
            rail: objects,
            memory,
            handle,
            remote,
        })
    }
}

fn pack_key(objects: &Objects, handle: ucp_mem_h) -> Result<Vec<u8>, CallError> {
    let library = objects.library();
    let functions = library.functions();
    let (mut buffer, mut length) = (std::ptr::null_mut(), 0);
    // SAFETY: the context is open, the memory is registered in it, and there is room for the results.
    let status =
        unsafe { (functions.ucp_rkey_pack)(objects.context.handle(), handle, &mut buffer, &mut length) };
    check(library, "ucp_rkey_pack", status)?;
    // SAFETY: the library returned a buffer of this length.
    let content = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) };
    let packed = packing::pack(library.identity().version, content);
    // SAFETY: the buffer came from ucp_rkey_pack and is not used afterwards.
    unsafe { (functions.ucp_rkey_buffer_release)(buffer) };
    Ok(packed)
}
