//! GPU memory. Calls the CUDA driver, which is opened at run time.

use crds::v1alpha1::MemoryKind;

use super::MemoryError;
use super::ffi::device::{DeviceMemory, DriverFailure, driver_present};

/// The device that memory is taken from; `CUDA_VISIBLE_DEVICES` decides which one that is.
const DEVICE: i32 = 0;

/// Memory of device 0.
///
/// # Errors
/// `Unavailable` without a driver, without a device, and when the device has too little.
pub(super) fn allocate(bytes: usize) -> Result<DeviceMemory, MemoryError> {
    let unavailable = |message| MemoryError::Unavailable {
        kind: MemoryKind::Cuda,
        bytes,
        message,
    };
    if !driver_present() {
        return Err(unavailable(
            "no CUDA driver (libcuda.so.1): run on a node with NVIDIA GPUs and ask for `gpus` in the resources of the run"
                .to_owned(),
        ));
    }
    DeviceMemory::allocate(DEVICE, bytes)
        .map_err(|failure| unavailable(format!("device {DEVICE}: {}", text(&failure))))
}

/// Sets every byte.
///
/// # Errors
/// `Copy` when the driver refuses.
pub(super) fn fill(memory: &DeviceMemory, value: u8) -> Result<(), MemoryError> {
    memory.fill(value).map_err(|failure| refused("fill", &failure))
}

/// Copies `bytes` to `offset`.
///
/// # Errors
/// `Copy` when the driver refuses.
pub(super) fn write_from(memory: &DeviceMemory, offset: usize, bytes: &[u8]) -> Result<(), MemoryError> {
    memory
        .write_from(offset, bytes)
        .map_err(|failure| refused("copy to the GPU", &failure))
}

/// Copies the bytes at `offset` into `bytes`.
///
/// # Errors
/// `Copy` when the driver refuses.
pub(super) fn read_into(memory: &DeviceMemory, offset: usize, bytes: &mut [u8]) -> Result<(), MemoryError> {
    memory
        .read_into(offset, bytes)
        .map_err(|failure| refused("copy from the GPU", &failure))
}

fn refused(action: &'static str, failure: &DriverFailure) -> MemoryError {
    MemoryError::Copy {
        action,
        message: text(failure),
    }
}

fn text(failure: &DriverFailure) -> String {
    format!("{} failed: {}", failure.call, failure.error)
}
