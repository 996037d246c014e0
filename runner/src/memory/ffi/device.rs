//! GPU memory through the CUDA driver, which is loaded at run time. Calls the driver.
#![allow(unsafe_code, reason = "the CUDA driver has no safe interface")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use cudarc::driver::result::{self, DriverError, ctx, device, primary_ctx};
use cudarc::driver::sys;

/// Size of the GPU pages that RDMA devices pin (64 KiB).
///
/// Allocations are rounded up to whole pages, so that no page contains parts of two allocations.
const GPU_PAGE_BYTES: usize = 64 * 1024;

/// A failed call to the driver.
#[derive(Debug)]
pub(crate) struct DriverFailure {
    /// Name of the driver function.
    pub(crate) call: &'static str,
    /// Error returned by the driver.
    pub(crate) error: DriverError,
}

impl DriverFailure {
    /// Whether the device has too little memory.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY
    }
}

/// Handle with which another process can map an allocation (CUDA IPC), and the offset of the memory in the allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GpuHandle {
    /// Handle of the allocation.
    allocation: [c_char; 64],
    /// Offset in bytes.
    offset: u64,
}

/// Length of a handle in a message, in bytes.
pub(crate) const HANDLE_BYTES: usize = 72;

impl GpuHandle {
    /// The handle as bytes for a message.
    pub(crate) fn to_bytes(self) -> [u8; HANDLE_BYTES] {
        let mut bytes = [0; HANDLE_BYTES];
        let (offset, allocation) = bytes.split_at_mut(8);
        offset.copy_from_slice(&self.offset.to_le_bytes());
        for (byte, character) in allocation.iter_mut().zip(self.allocation) {
            *byte = character as u8;
        }
        bytes
    }

    /// The handle in the bytes of a message; `None` if their length is wrong.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HANDLE_BYTES] = bytes.try_into().ok()?;
        let mut handle = Self {
            allocation: [0; 64],
            offset: u64::from_le_bytes(bytes[..8].try_into().ok()?),
        };
        for (character, byte) in handle.allocation.iter_mut().zip(&bytes[8..]) {
            *character = *byte as c_char;
        }
        Some(handle)
    }
}

/// Number of bytes that all processes together use on device `ordinal`.
///
/// Requires that [`driver_present`] returns true.
pub(crate) fn used_bytes(ordinal: c_int) -> Result<u64, DriverFailure> {
    let context = PrimaryContext::retain(ordinal)?;
    context.make_current()?;
    let (free, total) = name_call("cuMemGetInfo", result::mem_get_info())?;
    Ok(total.saturating_sub(free) as u64)
}

/// Adds the call name to a driver error.
fn name_call<T>(call: &'static str, result: Result<T, DriverError>) -> Result<T, DriverFailure> {
    result.map_err(|error| DriverFailure { call, error })
}

/// Whether a CUDA driver can be loaded.
///
/// Must be checked first, because every other call in this module panics without a driver.
pub(crate) fn driver_present() -> bool {
    // SAFETY: The call loads `libcuda`, whose constructors have no preconditions.
    unsafe { sys::is_culib_present() }
}

/// Number of devices that the driver offers to this process.
///
/// Requires that [`driver_present`] returns true.
pub(crate) fn device_count() -> Result<u32, DriverFailure> {
    let counted =
        name_call("cuInit", result::init()).and_then(|()| name_call("cuDeviceGetCount", device::get_count()));
    match counted {
        Ok(count) => Ok(count.unsigned_abs()),
        // The driver cannot be initialized without a device.
        Err(failure) if failure.error.0 == sys::CUresult::CUDA_ERROR_NO_DEVICE => Ok(0),
        Err(failure) => Err(failure),
    }
}

/// Memory on one GPU in the device's primary context, which fabric libraries also use: allocated by `cuMemAlloc`, or
/// mapped from the allocation of another process.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    context: PrimaryContext,
    origin: Origin,
    allocation: sys::CUdeviceptr,
    start: sys::CUdeviceptr,
    length: usize,
    pci: String,
    ordinal: c_int,
}

/// Where the address of a [`DeviceMemory`] comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// `cuMemAlloc`.
    Allocated,
    /// `cuIpcOpenMemHandle`.
    Opened,
}

/// A reference to a device's primary context, released on drop.
#[derive(Debug)]
struct PrimaryContext {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

// SAFETY: The driver allows any thread to use a context and its allocations after making the context current, which
// every function in this module does first. The driver synchronizes concurrent calls.
unsafe impl Send for PrimaryContext {}
// SAFETY: The reasoning for `Send` also covers concurrent use.
unsafe impl Sync for PrimaryContext {}

impl PrimaryContext {
    fn retain(ordinal: c_int) -> Result<Self, DriverFailure> {
        name_call("cuInit", result::init())?;
        let device = name_call("cuDeviceGet", device::get(ordinal))?;
        // SAFETY: The driver is initialized and `device` is one of its devices.
        let context = name_call("cuDevicePrimaryCtxRetain", unsafe { primary_ctx::retain(device) })?;
        Ok(Self { device, context })
    }

    fn make_current(&self) -> Result<(), DriverFailure> {
        // SAFETY: The context stays retained while `self` exists.
        name_call("cuCtxSetCurrent", unsafe { ctx::set_current(self.context) })
    }

    fn pci(&self) -> Result<String, DriverFailure> {
        // The documented form `0000:00:00.0` takes 13 bytes with its terminating NUL.
        let mut name = [0u8; 32];
        // SAFETY: `name` is as long as the given length, and the driver terminates the string within that length.
        let code = unsafe {
            sys::cuDeviceGetPCIBusId(
                name.as_mut_ptr().cast::<c_char>(),
                name.len() as c_int,
                self.device,
            )
        };
        name_call("cuDeviceGetPCIBusId", code.result())?;
        Ok(CStr::from_bytes_until_nul(&name)
            .unwrap_or_default()
            .to_string_lossy()
            .to_ascii_lowercase())
    }
}

impl Drop for PrimaryContext {
    fn drop(&mut self) {
        // SAFETY: This call releases the reference that `retain` acquired for this value. An error means that the
        // process is exiting and the driver has already released the context.
        let _ignored = unsafe { primary_ctx::release(self.device) };
    }
}

impl DeviceMemory {
    /// Allocates `length` bytes on device `ordinal`, aligned to [`GPU_PAGE_BYTES`].
    ///
    /// Requires that [`driver_present`] returns true.
    pub(crate) fn allocate(ordinal: c_int, length: usize) -> Result<Self, DriverFailure> {
        let context = PrimaryContext::retain(ordinal)?;
        context.make_current()?;
        let pci = context.pci()?;
        let whole = length
            .checked_next_multiple_of(GPU_PAGE_BYTES)
            .and_then(|whole| whole.checked_add(GPU_PAGE_BYTES));
        let too_large = DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let bytes = name_call("cuMemAlloc", whole.ok_or(too_large))?;
        // SAFETY: The context is current on this thread.
        let allocation = name_call("cuMemAlloc", unsafe { result::malloc_sync(bytes) })?;
        let memory = Self {
            context,
            origin: Origin::Allocated,
            allocation,
            start: allocation.next_multiple_of(GPU_PAGE_BYTES as u64),
            length,
            pci,
            ordinal,
        };
        memory.synchronize_copies()?;
        Ok(memory)
    }

    /// Maps `length` bytes of an allocation of another process on device `ordinal`.
    ///
    /// Requires that [`driver_present`] returns true.
    pub(crate) fn open(ordinal: c_int, handle: &GpuHandle, length: usize) -> Result<Self, DriverFailure> {
        let context = PrimaryContext::retain(ordinal)?;
        context.make_current()?;
        let pci = context.pci()?;
        let given = sys::CUipcMemHandle {
            reserved: handle.allocation,
        };
        let peer_access = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as c_uint;
        let mut allocation = 0;
        // SAFETY: The context is current on this thread, `allocation` outlives the call, and the driver rejects handles
        // that it has not issued.
        let code = unsafe { sys::cuIpcOpenMemHandle_v2(&raw mut allocation, given, peer_access) };
        name_call("cuIpcOpenMemHandle", code.result())?;
        Ok(Self {
            context,
            origin: Origin::Opened,
            allocation,
            start: allocation + handle.offset,
            length,
            pci,
            ordinal,
        })
    }

    /// Handle with which another process can map this memory.
    pub(crate) fn handle(&self) -> Result<GpuHandle, DriverFailure> {
        self.context.make_current()?;
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        // SAFETY: The context is current, `allocation` is an allocation of it, and `handle` outlives the call.
        let code = unsafe { sys::cuIpcGetMemHandle(&raw mut handle, self.allocation) };
        name_call("cuIpcGetMemHandle", code.result())?;
        Ok(GpuHandle {
            allocation: handle.reserved,
            offset: self.start - self.allocation,
        })
    }

    /// GPU address of the first byte.
    pub(crate) fn address(&self) -> *mut u8 {
        std::ptr::without_provenance_mut(self.start as usize)
    }

    /// The GPU's PCI address, in lowercase.
    pub(crate) fn pci(&self) -> &str {
        &self.pci
    }

    /// The GPU's CUDA device number.
    pub(crate) fn ordinal(&self) -> i32 {
        self.ordinal
    }

    /// Makes the memory's context current on the calling thread.
    pub(crate) fn make_current(&self) -> Result<(), DriverFailure> {
        self.context.make_current()
    }

    /// Sets every byte. Returns after all bytes are set.
    pub(crate) fn fill(&self, value: u8) -> Result<(), DriverFailure> {
        self.context.make_current()?;
        // SAFETY: `start..start + length` is inside the allocation, and the context is current.
        let filled = unsafe { result::memset_d8_sync(self.start, value, self.length) };
        name_call("cuMemsetD8", filled)?;
        // A memset may return before it is complete.
        name_call("cuCtxSynchronize", ctx::synchronize())
    }

    /// Copies `bytes` to `offset`. Fails without copying if the range extends beyond the memory.
    pub(crate) fn write_from(&self, offset: usize, bytes: &[u8]) -> Result<(), DriverFailure> {
        let target = self.checked_address(offset, bytes.len())?;
        self.context.make_current()?;
        // SAFETY: `checked_address` has checked that the range is inside the allocation, and the context is current.
        name_call("cuMemcpyHtoD", unsafe { result::memcpy_htod_sync(target, bytes) })
    }

    /// Copies the bytes at `offset` into `bytes`. Fails without copying if the range extends beyond the memory.
    pub(crate) fn read_into(&self, offset: usize, bytes: &mut [u8]) -> Result<(), DriverFailure> {
        let source = self.checked_address(offset, bytes.len())?;
        self.context.make_current()?;
        // SAFETY: `checked_address` has checked that the range is inside the allocation, and the context is current.
        name_call("cuMemcpyDtoH", unsafe { result::memcpy_dtoh_sync(bytes, source) })
    }

    fn checked_address(&self, offset: usize, count: usize) -> Result<sys::CUdeviceptr, DriverFailure> {
        let inside = offset.checked_add(count).is_some_and(|end| end <= self.length);
        let outside = DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE);
        name_call(
            "copy",
            inside.then_some(self.start + offset as u64).ok_or(outside),
        )
    }

    /// Makes copies and fills of this memory synchronous, as GPUDirect RDMA requires for memory that a NIC accesses.
    fn synchronize_copies(&self) -> Result<(), DriverFailure> {
        let enabled: c_uint = 1;
        // SAFETY: The attribute expects an unsigned integer, which outlives the call, and the pointer is the start of
        // an allocation of the current context.
        let code = unsafe {
            sys::cuPointerSetAttribute(
                (&raw const enabled).cast::<c_void>(),
                sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                self.allocation,
            )
        };
        name_call("cuPointerSetAttribute", code.result())
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.context.make_current().is_ok() {
            // An error means that the process is exiting and the driver has already ended the allocation or the mapping.
            let _ignored = match self.origin {
                // SAFETY: This value owns the allocation, and frees it exactly once. Every registration holds a reference
                // to the memory, so no NIC can still access it.
                Origin::Allocated => unsafe { result::free_sync(self.allocation) },
                // SAFETY: This value owns the mapping, and closes it exactly once. Every registration holds a reference to
                // the memory, so no NIC can still access it.
                Origin::Opened => unsafe { sys::cuIpcCloseMemHandle(self.allocation).result() },
            };
        }
    }
}
