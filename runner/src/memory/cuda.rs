//! GPU memory. Calls the CUDA driver, which is loaded at run time.

use crds::v1alpha1::MemoryKind;

use super::MemoryError;
use super::ffi::device::{DeviceMemory, DriverFailure, device_count, driver_present};

/// Allocates memory on the GPU with CUDA device number `gpu`. `CUDA_VISIBLE_DEVICES` determines how the physical GPUs
/// are numbered.
///
/// # Errors
/// Returns `Unavailable` if there is no driver, the device does not exist, or the device has too little memory.
pub(super) fn allocate(bytes: usize, gpu: u32) -> Result<DeviceMemory, MemoryError> {
    let unavailable = |message| MemoryError::Unavailable {
        kind: MemoryKind::Cuda,
        bytes,
        message,
    };
    if !driver_present() {
        return Err(unavailable(
            "no CUDA driver (libcuda.so.1): run on a node with NVIDIA GPUs and request `gpus` in the run's \
             resources"
                .to_owned(),
        ));
    }
    // A number that does not fit in an `i32` becomes `i32::MAX`, which the driver rejects.
    let ordinal = i32::try_from(gpu).unwrap_or(i32::MAX);
    DeviceMemory::allocate(ordinal, bytes).map_err(|failure| {
        let hint = match device_count() {
            Some(count) if u64::from(gpu) >= u64::from(count) => format!(
                ". This process can use {count} GPUs, numbered from 0: correct `devices.gpus`, or request more `gpus` in \
                 the run's resources"
            ),
            _ => String::new(),
        };
        unavailable(format!("device {gpu}: {}{hint}", describe(&failure)))
    })
}

/// Makes the memory's context current on the calling thread.
///
/// # Errors
/// Returns `Copy` if the driver fails.
pub(super) fn make_current(memory: &DeviceMemory) -> Result<(), MemoryError> {
    memory
        .make_current()
        .map_err(|failure| copy_error("select the context", &failure))
}

/// Sets every byte.
///
/// # Errors
/// Returns `Copy` if the driver fails.
pub(super) fn fill(memory: &DeviceMemory, value: u8) -> Result<(), MemoryError> {
    memory
        .fill(value)
        .map_err(|failure| copy_error("fill the memory", &failure))
}

/// Copies `bytes` to `offset`.
///
/// # Errors
/// Returns `Copy` if the driver fails.
pub(super) fn write_from(memory: &DeviceMemory, offset: usize, bytes: &[u8]) -> Result<(), MemoryError> {
    memory
        .write_from(offset, bytes)
        .map_err(|failure| copy_error("copy to the GPU", &failure))
}

/// Copies the bytes at `offset` into `bytes`.
///
/// # Errors
/// Returns `Copy` if the driver fails.
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
