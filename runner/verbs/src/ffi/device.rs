//! An opened device.

use super::{CallError, PORT, check, check_created};
use crate::rules::depths::DeviceLimits;
use rdma_sys::{
    ___ibv_query_port, ibv_alloc_pd, ibv_close_device, ibv_context, ibv_dealloc_pd, ibv_device_attr,
    ibv_free_device_list, ibv_get_device_list, ibv_get_device_name, ibv_mtu, ibv_open_device, ibv_pd,
    ibv_port_attr, ibv_port_state, ibv_query_device,
};
use std::ffi::{CStr, c_int};
use std::ptr::NonNull;

/// Value of `ibv_port_attr.link_layer` for InfiniBand.
const LINK_LAYER_INFINIBAND: u8 = 1;

/// Maximum number of reads that a queue pair serves concurrently. Not all devices support larger numbers.
const MAX_READS: u8 = 16;

/// A device and a protection domain in it.
#[derive(Debug)]
pub(crate) struct Device {
    context: NonNull<ibv_context>,
    domain: NonNull<ibv_pd>,
}

// SAFETY: the libibverbs functions that take a context or a protection domain are thread-safe.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// Properties of a device that limit its queue pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceAttributes {
    pub limits: DeviceLimits,
    /// Maximum number of reads that a queue pair serves for its peer concurrently.
    pub reads_as_target: u8,
    /// Maximum number of reads that a queue pair can have in flight.
    pub reads_as_initiator: u8,
}

/// Properties of a device's port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortAttributes {
    pub is_active: bool,
    /// Whether the port has a local identifier, as ports in an InfiniBand subnet do.
    pub is_infiniband: bool,
    pub lid: u16,
    /// MTU, as an `ibv_mtu` code.
    pub mtu: u8,
    pub max_message_bytes: u64,
}

impl Device {
    /// Names of the devices for which a driver is installed.
    ///
    /// # Errors
    ///
    /// Returns an error if the kernel has no RDMA support, or its device files cannot be accessed.
    pub(crate) fn names() -> Result<Vec<String>, CallError> {
        filter_map_devices(|name, _| Some(name.to_owned()))
    }

    /// Opens a device; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns the failed call.
    pub(crate) fn open(name: &str) -> Result<Option<Self>, CallError> {
        let mut opened = filter_map_devices(|found, device| {
            (found == name).then(|| {
                // SAFETY: the device is an entry of a list that has not been freed.
                check_created("ibv_open_device", unsafe { ibv_open_device(device) })
            })
        })?;
        let Some(context) = opened.pop().transpose()? else {
            return Ok(None);
        };
        // SAFETY: the context is open.
        let domain = check_created("ibv_alloc_pd", unsafe { ibv_alloc_pd(context.as_ptr()) });
        match domain {
            Ok(domain) => Ok(Some(Self { context, domain })),
            Err(error) => {
                // SAFETY: the context is open and has no objects.
                unsafe { ibv_close_device(context.as_ptr()) };
                Err(error)
            }
        }
    }

    pub(super) fn context(&self) -> *mut ibv_context {
        self.context.as_ptr()
    }

    pub(super) fn domain(&self) -> *mut ibv_pd {
        self.domain.as_ptr()
    }

    /// Properties of the device.
    ///
    /// # Errors
    ///
    /// Returns the failed call.
    pub(crate) fn attributes(&self) -> Result<DeviceAttributes, CallError> {
        // SAFETY: all fields are integers and arrays of integers, for which zero is valid.
        let mut found: ibv_device_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the context is open, and the call writes only to the struct.
        check("ibv_query_device", unsafe {
            ibv_query_device(self.context(), &mut found)
        })?;
        let size = |value: c_int| usize::try_from(value).unwrap_or(0);
        let byte = |value: c_int| u8::try_from(value.max(0)).unwrap_or(u8::MAX);
        Ok(DeviceAttributes {
            limits: DeviceLimits {
                queue: size(found.max_qp_wr),
                shared_receives: size(found.max_srq_wr),
                completions: size(found.max_cqe),
            },
            reads_as_target: byte(found.max_qp_rd_atom).min(MAX_READS),
            reads_as_initiator: byte(found.max_qp_init_rd_atom),
        })
    }

    /// Properties of the port.
    ///
    /// # Errors
    ///
    /// Returns the failed call.
    pub(crate) fn port(&self) -> Result<PortAttributes, CallError> {
        // SAFETY: all fields are integers, for which zero is valid.
        let mut found: ibv_port_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the context is open, and the call writes only to the struct.
        let result = unsafe { ___ibv_query_port(self.context(), PORT, &mut found) };
        check("ibv_query_port", result)?;
        Ok(PortAttributes {
            is_active: found.state == ibv_port_state::IBV_PORT_ACTIVE,
            is_infiniband: found.link_layer == LINK_LAYER_INFINIBAND,
            lid: found.lid,
            mtu: u8::try_from(found.active_mtu).unwrap_or(ibv_mtu::IBV_MTU_1024 as u8),
            max_message_bytes: found.max_msg_sz.into(),
        })
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: every object in the protection domain holds a reference to the device, so no such object exists
        // anymore.
        unsafe { ibv_dealloc_pd(self.domain.as_ptr()) };
        // SAFETY: as above.
        unsafe { ibv_close_device(self.context.as_ptr()) };
    }
}

/// Calls `visit` with the name of each device, and returns the results that are not `None`.
fn filter_map_devices<T>(
    mut visit: impl FnMut(&str, *mut rdma_sys::ibv_device) -> Option<T>,
) -> Result<Vec<T>, CallError> {
    let mut count = 0;
    // SAFETY: the call writes the length of the list to its argument.
    let list = check_created("ibv_get_device_list", unsafe { ibv_get_device_list(&mut count) })?;
    let mut results = Vec::new();
    for index in 0..usize::try_from(count).unwrap_or(0) {
        let entry = list.as_ptr().wrapping_add(index);
        // SAFETY: the list has `count` entries.
        let device = unsafe { *entry };
        // SAFETY: the device is an entry of the list.
        let name = unsafe { ibv_get_device_name(device) };
        if name.is_null() {
            continue;
        }
        // SAFETY: the name is a C string, which lives as long as the list.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        results.extend(visit(&name, device));
    }
    // SAFETY: the list is not used afterwards. Opened devices stay valid.
    unsafe { ibv_free_device_list(list.as_ptr()) };
    Ok(results)
}
