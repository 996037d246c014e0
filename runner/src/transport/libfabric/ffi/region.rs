//! Memory registration on one rail.

use super::CallError;
use super::objects::{Objects, Owned, Registered};
use super::open::opened;
use super::rail::Rail;
use crate::memory::Memory;
use crate::transport::RemoteKey;
use libc::iovec;
use libfabric_sys::bindings::{
    FI_HMEM_CUDA, FI_MR_VIRT_ADDR, FI_READ, FI_RECV, FI_REMOTE_READ, FI_REMOTE_WRITE, FI_SEND, FI_WRITE,
    fi_mr_attr, fid_domain, fid_mr,
};
use libfabric_sys::{Grown, calls};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::sync::{Arc, PoisonError};

/// Everything that scenarios do with memory, at either end.
const ACCESS: u64 = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

/// The GPU that device memory is on, by the driver's number.
const CUDA_DEVICE: c_int = 0;

/// Memory as one rail knows it.
pub(in crate::transport::libfabric) struct Part {
    rail: Arc<Objects>,
    memory: Arc<Memory>,
    descriptor: *mut c_void,
    remote: RemoteKey,
}

// SAFETY: the descriptor is an opaque value that is handed back to the library by the rail, never looked into; the
// rest is Send by itself.
unsafe impl Send for Part {}

/// A range of registered memory, ready to be posted.
#[derive(Clone, Copy)]
pub(in crate::transport::libfabric) struct Span<'a> {
    pub(super) pointer: *mut u8,
    pub(super) length: usize,
    pub(super) descriptor: *mut c_void,
    /// Whether the processor cannot read it, and so the library cannot inject it.
    pub(super) device: bool,
    pub(super) rail: *const Objects,
    part: PhantomData<&'a Part>,
}

impl Part {
    /// What a peer needs to reach it.
    pub(in crate::transport::libfabric) fn remote(&self) -> RemoteKey {
        self.remote
    }

    /// A range of it; nothing where the range does not lie inside.
    #[inline]
    pub(in crate::transport::libfabric) fn span(&self, offset: u64, length: u64) -> Option<Span<'_>> {
        let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
        if offset.checked_add(length)? > self.memory.length() {
            return None;
        }
        Some(Span {
            pointer: self.memory.address().wrapping_add(offset),
            length,
            descriptor: self.descriptor,
            device: self.memory.is_device(),
            rail: Arc::as_ptr(&self.rail),
            part: PhantomData,
        })
    }
}

impl Rail {
    /// Registers all of a memory for all operations. It stays registered until the rail is closed.
    ///
    /// # Errors
    ///
    /// Where the library refuses it.
    pub(in crate::transport::libfabric) fn register(
        &mut self,
        memory: Arc<Memory>,
    ) -> Result<Part, CallError> {
        let objects = Arc::clone(&self.objects);
        let library = objects.info.library();
        let key = self.next_key();
        let region = opened(library, registration(&memory), |out| {
            if memory.is_device() {
                register_device(&objects.domain, &memory, key, out)
            } else {
                register_host(&objects.domain, &memory, key, out)
            }
        })?;
        // SAFETY: an open region.
        let descriptor = unsafe { calls::fi_mr_desc(region.as_ptr()) };
        // SAFETY: an open region.
        let key = unsafe { calls::fi_mr_key(region.as_ptr()) };
        let virtual_address = self.mr_mode & FI_MR_VIRT_ADDR != 0;
        let address = if virtual_address {
            memory.address().addr() as u64
        } else {
            0
        };
        let remote = RemoteKey { address, key };
        let kept = Registered {
            _region: region,
            _memory: Arc::clone(&memory),
        };
        objects
            .regions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(kept);
        Ok(Part {
            rail: objects,
            memory,
            descriptor,
            remote,
        })
    }
}

/// The call that registers a memory.
pub(in crate::transport::libfabric) fn registration(memory: &Memory) -> &'static str {
    if memory.is_device() {
        "fi_mr_regattr"
    } else {
        "fi_mr_reg"
    }
}

fn register_host(domain: &Owned<fid_domain>, memory: &Memory, key: u64, out: &mut *mut fid_mr) -> c_int {
    let buffer = memory.address().cast_const().cast();
    // SAFETY: an open domain; the caller keeps the memory beside the region until the region is closed.
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

fn register_device(domain: &Owned<fid_domain>, memory: &Memory, key: u64, out: &mut *mut fid_mr) -> c_int {
    let range = iovec {
        iov_base: memory.address().cast(),
        iov_len: memory.length(),
    };
    // SAFETY: integers, pointers, and a union of integers.
    let mut attr = unsafe { Grown::<fi_mr_attr>::zeroed() };
    let known = attr.known_mut();
    known.mr_iov = &range;
    known.iov_count = 1;
    known.access = ACCESS;
    known.requested_key = key;
    known.iface = FI_HMEM_CUDA;
    known.device.cuda = CUDA_DEVICE;
    // SAFETY: an open domain; the attribute and its range live for the call, the memory as above.
    unsafe { calls::fi_mr_regattr(domain.as_ptr(), attr.as_mut_ptr(), 0, out) }
}
