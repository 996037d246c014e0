//! GPU memory. Calls the CUDA driver, which is loaded at run time.

use crds::v1alpha1::MemoryKind;

use super::MemoryError;
use super::ffi::device::{self, DeviceMemory, DriverFailure, GpuHandle, device_count, driver_present};

/// Allocates memory on the GPU with CUDA device number `gpu`. `CUDA_VISIBLE_DEVICES` determines how the physical GPUs
/// are numbered.
///
/// # Errors
/// Returns `Unavailable` if there is no driver or the device does not exist, and `NotEnoughOnGpu` if the device has too
/// little memory.
pub(super) fn allocate(bytes: usize, gpu: u32) -> Result<DeviceMemory, MemoryError> {
    require_driver(bytes)?;
    DeviceMemory::allocate(ordinal(gpu), bytes).map_err(|failure| {
        if failure.is_out_of_memory() {
            let message = format!("device {gpu}: {}", describe(&failure));
            return MemoryError::NotEnoughOnGpu { bytes, message };
        }
        let hint = match device_count() {
            Ok(count) if gpu >= count => format!(
                ". This process can use {count} GPUs, numbered from 0: correct `devices.gpus`, or request more `gpus` in \
                 the run's resources"
            ),
            _ => String::new(),
        };
        unavailable(bytes, format!("device {gpu}: {}{hint}", describe(&failure)))
    })
}

/// Maps memory on the GPU with CUDA device number `gpu` that another process allocated and passed as `handle`.
///
/// # Errors
/// Returns `Unavailable` if there is no driver, or the driver cannot map the memory.
pub(super) fn open(handle: &GpuHandle, bytes: usize, gpu: u32) -> Result<DeviceMemory, MemoryError> {
    require_driver(bytes)?;
    DeviceMemory::open(ordinal(gpu), handle, bytes)
        .map_err(|failure| unavailable(bytes, format!("device {gpu}: {}", describe(&failure))))
}

/// Handle with which another process can map the memory.
///
/// # Errors
/// Returns `Copy` if the driver fails.
pub(super) fn handle(memory: &DeviceMemory) -> Result<GpuHandle, MemoryError> {
    memory
        .handle()
        .map_err(|failure| copy_error("share the memory", &failure))
}

/// Number of bytes that all processes together use on the GPU with CUDA device number `gpu`.
///
/// # Errors
/// Returns `Unavailable` if there is no driver or no such device.
pub(super) fn used_bytes(gpu: u32) -> Result<u64, MemoryError> {
    require_driver(0)?;
    device::used_bytes(ordinal(gpu))
        .map_err(|failure| unavailable(0, format!("device {gpu}: {}", describe(&failure))))
}

/// Number of GPUs that the driver offers to this process; 0 if there is no driver.
///
/// # Errors
/// Returns `Driver` if the driver fails, so that the number of GPUs is unknown.
pub(super) fn count() -> Result<u32, MemoryError> {
    if !driver_present() {
        return Ok(0);
    }
    device_count().map_err(|failure| MemoryError::Driver {
        call: failure.call,
        message: failure.error.to_string(),
    })
}

/// Fails if no driver can be loaded. `bytes` is the size for which it is needed.
fn require_driver(bytes: usize) -> Result<(), MemoryError> {
    if driver_present() {
        return Ok(());
    }
    let message = "no CUDA driver (libcuda.so.1): run on a node with NVIDIA GPUs and request `gpus` in the run's \
                   resources";
    Err(unavailable(bytes, message.to_owned()))
}

fn unavailable(bytes: usize, message: String) -> MemoryError {
    MemoryError::Unavailable {
        kind: MemoryKind::Cuda,
        bytes,
        message,
    }
}

/// The driver's number of a GPU. A number that does not fit in an `i32` becomes `i32::MAX`, which the driver rejects.
fn ordinal(gpu: u32) -> i32 {
    i32::try_from(gpu).unwrap_or(i32::MAX)
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
