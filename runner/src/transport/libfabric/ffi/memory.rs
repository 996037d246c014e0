//! Registers memory on one rail.

use super::CallError;
use super::objects::{Objects, Owned, RegisteredMemory};
use super::open::open_object;
use super::rail::Rail;
use crate::memory::Memory;
use crate::transport::RemoteKey;
use libc::iovec;
use libfabric_sys::bindings::{
    FI_HMEM_CUDA, FI_HMEM_DEVICE_ONLY, FI_MR_VIRT_ADDR, FI_READ, FI_RECV, FI_REMOTE_READ, FI_REMOTE_WRITE,
    FI_SEND, FI_WRITE, fi_mr_attr, fid_domain, fid_mr,
};
use libfabric_sys::{Padded, calls};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::{Arc, PoisonError};

/// Access rights for all operations that scenarios perform, local and remote.
const ACCESS: u64 = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

/// Memory that is registered on one rail.
pub struct RailRegion {
    rail: Arc<Objects>,
    memory: Arc<Memory>,
    descriptor: *mut c_void,
    remote: RemoteKey,
}

// SAFETY: the descriptor is an opaque value that the rail passes back to the library and never dereferences. All other
// fields are Send.
unsafe impl Send for RailRegion {}

/// Range of registered memory for a post.
#[derive(Clone, Copy)]
pub(in crate::transport::libfabric) struct RegisteredRange<'a> {
    pub(super) pointer: *mut u8,
    pub(super) length: usize,
    pub(super) descriptor: *mut c_void,
    /// Whether the range is in GPU memory, which the CPU cannot read and the library cannot inject.
    pub(super) is_device: bool,
    pub(super) rail: *const Objects,
    region: PhantomData<&'a RailRegion>,
}

impl RailRegion {
    /// Address and key that a peer uses to access the region.
    pub(in crate::transport::libfabric) fn remote(&self) -> RemoteKey {
        self.remote
    }

    /// Returns a range of the region; `None` if the range extends beyond the region.
    #[inline]
    pub(in crate::transport::libfabric) fn range(
        &self,
        offset: u64,
        length: u64,
    ) -> Option<RegisteredRange<'_>> {
        let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
        if offset.checked_add(length)? > self.memory.length() {
            return None;
        }
        Some(RegisteredRange {
            pointer: self.memory.address().wrapping_add(offset),
            length,
            descriptor: self.descriptor,
            is_device: self.memory.is_device(),
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
    pub(in crate::transport::libfabric) fn register_memory(
        &mut self,
        memory: Arc<Memory>,
    ) -> Result<RailRegion, CallError> {
        let objects = Arc::clone(&self.objects);
        let library = objects.info.library();
        let key = self.next_key();
        let region = open_object(library, registration_call(&memory), |out| {
            if let Some(gpu) = memory.gpu() {
                register_device_memory(&objects.domain, &memory, gpu, key, out)
            } else {
                register_host_memory(&objects.domain, &memory, key, out)
            }
        })?;
        // SAFETY: the region is open.
        let descriptor = unsafe { calls::fi_mr_desc(region.as_ptr()) };
        // SAFETY: the region is open.
        let key = unsafe { calls::fi_mr_key(region.as_ptr()) };
        let uses_virtual_addresses = self.mr_mode & FI_MR_VIRT_ADDR != 0;
        let address = if uses_virtual_addresses {
            memory.address().addr() as u64
        } else {
            0
        };
        let remote = RemoteKey { address, key };
        let registered = RegisteredMemory {
            _region: region,
            _memory: Arc::clone(&memory),
        };
        objects
            .regions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(registered);
        Ok(RailRegion {
            rail: objects,
            memory,
            descriptor,
            remote,
        })
    }
}

/// Name of the call that registers this memory.
pub(in crate::transport::libfabric) fn registration_call(memory: &Memory) -> &'static str {
    if memory.is_device() {
        "fi_mr_regattr"
    } else {
        "fi_mr_reg"
    }
}

fn register_host_memory(
    domain: &Owned<fid_domain>,
    memory: &Memory,
    key: u64,
    out: &mut *mut fid_mr,
) -> c_int {
    let buffer = memory.address().cast_const().cast();
    // SAFETY: the domain is open, and the caller keeps the memory allocated until the region is closed.
    unsafe {
        calls::fi_mr_reg(
            domain.as_ptr(),
            buffer,
            memory.length(),
            ACCESS,
            0,
            key,
            0,
            out,
            std::ptr::null_mut(),
        )
    }
}

/// Registers GPU memory. FI_HMEM_DEVICE_ONLY states that the CPU cannot access it; without this flag, shm copies it through
/// host memory instead of between the GPUs.
fn register_device_memory(
    domain: &Owned<fid_domain>,
    memory: &Memory,
    gpu: c_int,
    key: u64,
    out: &mut *mut fid_mr,
) -> c_int {
    let iov = iovec {
        iov_base: memory.address().cast(),
        iov_len: memory.length(),
    };
    // SAFETY: the struct consists of integers, pointers, and a union of integers.
    let mut attr = unsafe { Padded::<fi_mr_attr>::zeroed() };
    let fields = attr.fields_mut();
    fields.mr_iov = &iov;
    fields.iov_count = 1;
    fields.access = ACCESS;
    fields.requested_key = key;
    fields.iface = FI_HMEM_CUDA;
    fields.device.cuda = gpu;
    // SAFETY: the domain is open; the attribute and its iovec are valid during the call, and the caller keeps the
    // memory allocated until the region is closed.
    unsafe { calls::fi_mr_regattr(domain.as_ptr(), attr.as_mut_ptr(), FI_HMEM_DEVICE_ONLY, out) }
}
