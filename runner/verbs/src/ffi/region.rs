//! Memory that is registered with one device.

use super::{CallError, Device, check_created};
use rdma_sys::{ibv_access_flags, ibv_dereg_mr, ibv_mr, ibv_reg_mr, ibv_sge};
use runner::memory::Memory;
use runner::transport::RemoteKey;
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::Arc;

/// Access that peers and the device have to registered memory.
const ACCESS: c_int = (ibv_access_flags::IBV_ACCESS_LOCAL_WRITE.0
    | ibv_access_flags::IBV_ACCESS_REMOTE_WRITE.0
    | ibv_access_flags::IBV_ACCESS_REMOTE_READ.0) as c_int;

/// Memory that is registered with one device. While it exists, the memory stays allocated and the device open.
#[derive(Debug)]
pub struct RailRegion {
    registration: NonNull<ibv_mr>,
    key: RemoteKey,
    local_key: u32,
    length: u64,
    // The memory is released after `drop` has removed the registration.
    _memory: Arc<Memory>,
    _device: Arc<Device>,
}

// SAFETY: the pointer is used only to remove the registration, once, by the thread that drops the region.
unsafe impl Send for RailRegion {}

/// Part of a registered region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegisteredRange<'a> {
    address: u64,
    length: u32,
    local_key: u32,
    // Keeps the region registered while the range is used.
    _region: &'a RailRegion,
}

impl RailRegion {
    /// Registers memory for all local and remote operations.
    ///
    /// # Errors
    ///
    /// Returns the failed call.
    pub(crate) fn register(device: &Arc<Device>, memory: &Arc<Memory>) -> Result<Self, CallError> {
        // SAFETY: the protection domain is open, and the memory stays allocated while the region holds a reference to it.
        let registration =
            unsafe { ibv_reg_mr(device.domain(), memory.address().cast(), memory.length(), ACCESS) };
        let registration = check_created("ibv_reg_mr", registration)?;
        // SAFETY: the registration exists, and its fields do not change.
        let fields = unsafe { registration.as_ref() };
        Ok(Self {
            key: RemoteKey {
                address: memory.address() as u64,
                key: fields.rkey.into(),
            },
            local_key: fields.lkey,
            length: memory.length() as u64,
            registration,
            _memory: Arc::clone(memory),
            _device: Arc::clone(device),
        })
    }

    /// Address and key for peers.
    pub(crate) fn key(&self) -> RemoteKey {
        self.key
    }

    /// Part of the region; `None` if it extends beyond the region or is longer than a message can be.
    #[inline]
    pub(crate) fn range(&self, offset: u64, length: u64) -> Option<RegisteredRange<'_>> {
        let end = offset.checked_add(length)?;
        (end <= self.length).then_some(())?;
        Some(RegisteredRange {
            address: self.key.address + offset,
            length: u32::try_from(length).ok()?,
            local_key: self.local_key,
            _region: self,
        })
    }
}

impl RegisteredRange<'_> {
    /// Length in bytes.
    #[inline]
    pub(crate) fn length(&self) -> u32 {
        self.length
    }

    /// Returns the range as a scatter-gather element of a work request.
    #[inline]
    pub(super) fn element(&self) -> ibv_sge {
        ibv_sge {
            addr: self.address,
            length: self.length,
            lkey: self.local_key,
        }
    }
}

impl Drop for RailRegion {
    fn drop(&mut self) {
        // SAFETY: the registration exists and is not used afterwards. The device fails operations that still use it.
        unsafe { ibv_dereg_mr(self.registration.as_ptr()) };
    }
}
