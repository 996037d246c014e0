//! GPU memory. Calls the CUDA driver, which is loaded at run time.

use crds::v1alpha1::MemoryKind;

use super::MemoryError;
use super::ffi::device::{DeviceMemory, DriverFailure, driver_present};

/// Ordinal of the device that provides the memory; `CUDA_VISIBLE_DEVICES` selects the physical device.
const DEVICE: i32 = 0;

/// Allocates memory on device 0.
///
/// # Errors
/// `Unavailable` if there is no driver or no device, or the device has too little memory.
pub(super) fn allocate(bytes: usize) -> Result<DeviceMemory, MemoryError> {
    let unavailable = |message| MemoryError::Unavailable {
        kind: MemoryKind::Cuda,
        bytes,
        message,
    };
    if !driver_present() {
        return Err(unavailable(
            "no CUDA driver (libcuda.so.1): run on a node with NVIDIA GPUs and request `gpus` in the resources of the \
             run"
            .to_owned(),
        ));
    }
    DeviceMemory::allocate(DEVICE, bytes)
        .map_err(|failure| unavailable(format!("device {DEVICE}: {}", describe(&failure))))
}

/// Sets every byte.
///
/// # Errors
/// `Copy` if the driver fails.
pub(super) fn fill(memory: &DeviceMemory, value: u8) -> Result<(), MemoryError> {
    memory.fill(value).map_err(|failure| copy_error("fill", &failure))
}

/// Copies `bytes` to `offset`.
///
/// # Errors
/// `Copy` if the driver fails.
pub(super) fn write_from(memory: &DeviceMemory, offset: usize, bytes: &[u8]) -> Result<(), MemoryError> {
    memory
        .write_from(offset, bytes)
        .map_err(|failure| copy_error("copy to the GPU", &failure))
}

/// Copies the bytes at `offset` into `bytes`.
///
/// # Errors
/// `Copy` if the driver fails.
pub(super) fn read_into(memory: &DeviceMemory, offset: usize, bytes: &mut [u8]) -> Result<(), MemoryError> {
    memory
        .read_into(offset, bytes)
        .map_err(|failure| copy_error("copy from the GPU", &failure))
}

fn copy_error(action: &'static str, failure: &DriverFailure) -> MemoryError {
    MemoryError::Copy {
        action,
        message: describe(failure),
    }
}

fn describe(failure: &DriverFailure) -> String {
    format!("{} failed: {}", failure.call, failure.error)
}
