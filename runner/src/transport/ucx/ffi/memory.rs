//! Registers memory on one rail, and packs its keys for peers.

use super::objects::{Objects, Registration};
use super::rail::Rail;
use super::{CallError, check};
use crate::memory::{LibraryMemory, Memory};
use crate::transport::PackedKey;
use crate::transport::ucx::rules::packing;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError};
use ucx_sys::bindings::{
    UCP_MEM_ATTR_FIELD_ADDRESS, UCP_MEM_ATTR_FIELD_LENGTH, UCP_MEM_MAP_ALLOCATE,
    UCP_MEM_MAP_PARAM_FIELD_ADDRESS, UCP_MEM_MAP_PARAM_FIELD_FLAGS, UCP_MEM_MAP_PARAM_FIELD_LENGTH,
    UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE, UCS_ERR_NO_MEMORY, UCS_MEMORY_TYPE_CUDA, UCS_MEMORY_TYPE_HOST,
    ucp_mem_attr_t, ucp_mem_h, ucp_mem_map_params_t,
};

/// Memory that is registered on one rail.
pub struct RailRegion {
    rail: Arc<Objects>,
    memory: Arc<Memory>,
    /// Address, length and kind of `memory`, copied so that a post does not have to look them up.
    address: *mut u8,
    length: usize,
    is_device: bool,
    handle: ucp_mem_h,
    remote: PackedKey,
}

// SAFETY: the handle is an opaque value that only the `Rail` passes to the library, and the address belongs to `memory`,
// which is Send. All other fields are Send. A region is not Sync, because nothing needs it to be.
unsafe impl Send for RailRegion {}

/// Memory that has been registered on a rail but is not yet part of a region.
struct Mapping {
    handle: ucp_mem_h,
    /// Key packed by UCX.
    key: Vec<u8>,
}

/// Range of registered memory for a post.
#[derive(Clone, Copy)]
pub(in crate::transport::ucx) struct RegisteredRange<'a> {
    pub(super) pointer: *mut u8,
    pub(super) length: usize,
    /// Whether the CPU cannot access the memory.
    pub(super) is_device: bool,
    pub(super) handle: ucp_mem_h,
    pub(super) rail: *const Objects,
    region: PhantomData<&'a RailRegion>,
}

impl RailRegion {
    /// Address and packed key that a peer uses to access the region.
    pub(in crate::transport::ucx) fn remote(&self) -> &PackedKey {
        &self.remote
    }

    /// Registered memory.
    pub(in crate::transport::ucx) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Returns a range of the region; `None` if the range extends beyond the region.
    #[inline]
    pub(in crate::transport::ucx) fn range(&self, offset: u64, length: u64) -> Option<RegisteredRange<'_>> {
        let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
        if offset.checked_add(length)? > self.length {
            return None;
        }
        Some(RegisteredRange {
            pointer: self.address.wrapping_add(offset),
            length,
            is_device: self.is_device,
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
    /// Returns the failed call if the library rejects the memory.
    pub(in crate::transport::ucx) fn register_memory(
        &mut self,
        memory: Arc<Memory>,
    ) -> Result<RailRegion, CallError> {
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
        // SAFETY: the parameters are valid, and the registration keeps the memory allocated.
        let mapping = unsafe { self.map(&params, Some(Arc::clone(&memory))) }?;
        Ok(self.region(memory, mapping))
    }

    /// Makes the library allocate `bytes` bytes of host memory and register them for all operations. The bytes are set to
    /// 0. The library frees the memory when the rail is closed and the last reference to the memory is dropped.
    ///
    /// # Errors
    ///
    /// Returns the failed call if the library cannot allocate or register the memory.
    pub(in crate::transport::ucx) fn allocate(&mut self, bytes: usize) -> Result<RailRegion, CallError> {
        // SAFETY: the struct consists of integers and pointers, for which zero is valid.
        let mut params: ucp_mem_map_params_t = unsafe { MaybeUninit::zeroed().assume_init() };
        params.field_mask = u64::from(
            UCP_MEM_MAP_PARAM_FIELD_LENGTH
                | UCP_MEM_MAP_PARAM_FIELD_FLAGS
                | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
        );
        params.length = bytes;
        params.flags = UCP_MEM_MAP_ALLOCATE;
        params.memory_type = UCS_MEMORY_TYPE_HOST;
        // SAFETY: the parameters are valid, and the library allocates the memory.
        let mapping = unsafe { self.map(&params, None) }?;
        let library = self.objects.library();
        // SAFETY: the struct consists of integers and a pointer, for which zero is valid.
        let mut attributes: ucp_mem_attr_t = unsafe { MaybeUninit::zeroed().assume_init() };
        attributes.field_mask = u64::from(UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH);
        // SAFETY: the memory was just registered, and there is room for the results.
        let status = unsafe { (library.functions().ucp_mem_query)(mapping.handle, &mut attributes) };
        check(library, "ucp_mem_query", status)?;
        let Some(address) = NonNull::new(attributes.address.cast()).filter(|_| attributes.length >= bytes)
        else {
            return Err(CallError::new(library, "ucp_mem_query", UCS_ERR_NO_MEMORY));
        };
        let owner = Arc::clone(&self.objects);
        // SAFETY: the library allocated at least this many bytes, and frees them when the objects of the rail are dropped.
        let memory = unsafe { LibraryMemory::new(address, bytes, owner) };
        Ok(self.region(Memory::from_library(memory), mapping))
    }

    /// Registers memory until the objects of the rail are dropped.
    ///
    /// # Safety
    ///
    /// `params` must be valid, and describe `memory`, or memory that the library allocates if `memory` is `None`.
    unsafe fn map(
        &mut self,
        params: &ucp_mem_map_params_t,
        memory: Option<Arc<Memory>>,
    ) -> Result<Mapping, CallError> {
        let (library, context) = (self.objects.library(), &self.objects.context);
        let mut handle = std::ptr::null_mut();
        // SAFETY: the context is open, and the caller guarantees valid parameters.
        let status = unsafe { (library.functions().ucp_mem_map)(context.handle(), params, &mut handle) };
        check(library, "ucp_mem_map", status)?;
        // SAFETY: the memory was just registered. `Objects` drops the registration after the worker, whose operations
        // use the memory, and before the context.
        let registration = unsafe { Registration::new(context, handle, memory) };
        self.objects
            .regions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(registration);
        let functions = library.functions();
        let (mut buffer, mut length) = (std::ptr::null_mut(), 0);
        // SAFETY: the context is open, the memory was registered in it above, and there is room for the results.
        let status = unsafe { (functions.ucp_rkey_pack)(context.handle(), handle, &mut buffer, &mut length) };
        check(library, "ucp_rkey_pack", status)?;
        // SAFETY: the library returned a buffer of this length.
        let key = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) }.to_vec();
        // SAFETY: the buffer came from ucp_rkey_pack and is not used afterwards.
        unsafe { (functions.ucp_rkey_buffer_release)(buffer) };
        Ok(Mapping { handle, key })
    }

    fn region(&self, memory: Arc<Memory>, mapping: Mapping) -> RailRegion {
        let version = self.objects.library().identity().version;
        let address = memory.address().addr() as u64;
        RailRegion {
            rail: Arc::clone(&self.objects),
            remote: PackedKey {
                address,
                key: packing::pack_key(version, address, memory.length() as u64, &mapping.key),
            },
            address: memory.address(),
            length: memory.length(),
            is_device: memory.is_device(),
            memory,
            handle: mapping.handle,
        }
    }
}
