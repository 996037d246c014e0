//! GPU memory through the CUDA driver, which is opened at run time. Calls the driver.
#![allow(unsafe_code, reason = "the driver's interface has no safe form")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use cudarc::driver::result::{self, DriverError, ctx, device, primary_ctx};
use cudarc::driver::sys;

/// Pages of a GPU as RDMA devices pin them (64 KiB): the range is made of whole ones, so that it shares none with
/// another allocation.
const GPU_PAGE_BYTES: usize = 64 * 1024;

/// The first call that failed, and what the driver says about it.
#[derive(Debug)]
pub(crate) struct DriverFailure {
    /// Name of the driver's function.
    pub(crate) call: &'static str,
    /// The driver's error.
    pub(crate) error: DriverError,
}

/// Names the call in a driver's error.
fn named<T>(call: &'static str, result: Result<T, DriverError>) -> Result<T, DriverFailure> {
    result.map_err(|error| DriverFailure { call, error })
}

/// Whether a CUDA driver can be opened. Every other call here panics where it is false, so it comes first.
pub(crate) fn driver_present() -> bool {
    // SAFETY: Opens `libcuda`, whose constructors have no precondition.
    unsafe { sys::is_culib_present() }
}

/// Memory of one GPU, allocated by `cuMemAlloc` in the device's primary context, which fabric libraries use too.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    context: PrimaryContext,
    allocation: sys::CUdeviceptr,
    start: sys::CUdeviceptr,
    length: usize,
    pci: String,
}

/// A reference to a device's primary context, given back when dropped.
#[derive(Debug)]
struct PrimaryContext {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

// SAFETY: A context and its allocations may be used by any thread that makes the context current, which every
// function here does first; the driver locks for itself.
unsafe impl Send for PrimaryContext {}
// SAFETY: As for `Send`.
unsafe impl Sync for PrimaryContext {}

impl PrimaryContext {
    fn retain(ordinal: c_int) -> Result<Self, DriverFailure> {
        named("cuInit", result::init())?;
        let device = named("cuDeviceGet", device::get(ordinal))?;
        // SAFETY: The driver is initialized and `device` is one of its devices.
        let context = named("cuDevicePrimaryCtxRetain", unsafe { primary_ctx::retain(device) })?;
        Ok(Self { device, context })
    }

    fn make_current(&self) -> Result<(), DriverFailure> {
        // SAFETY: The context is retained for as long as `self` lives.
        named("cuCtxSetCurrent", unsafe { ctx::set_current(self.context) })
    }

    fn pci(&self) -> Result<String, DriverFailure> {
        // The documented form `0000:00:00.0` has 13 bytes with its end.
        let mut name = [0u8; 32];
        // SAFETY: `name` has room for the length that is given, and the driver ends the string within it.
        let code = unsafe {
            sys::cuDeviceGetPCIBusId(
                name.as_mut_ptr().cast::<c_char>(),
                name.len() as c_int,
                self.device,
            )
        };
        named("cuDeviceGetPCIBusId", code.result())?;
        Ok(CStr::from_bytes_until_nul(&name)
            .unwrap_or_default()
            .to_string_lossy()
            .to_ascii_lowercase())
    }
}

impl Drop for PrimaryContext {
    fn drop(&mut self) {
        // SAFETY: Balances the one `retain` of this value. An error means that the process is ending and the driver
        // has given everything back by itself.
        let _ending = unsafe { primary_ctx::release(self.device) };
    }
}

impl DeviceMemory {
    /// Allocates `length` bytes on device `ordinal`, at a boundary of [`GPU_PAGE_BYTES`].
    ///
    /// Only where [`driver_present`].
    pub(crate) fn allocate(ordinal: c_int, length: usize) -> Result<Self, DriverFailure> {
        let context = PrimaryContext::retain(ordinal)?;
        context.make_current()?;
        let pci = context.pci()?;
        let whole = length
            .checked_next_multiple_of(GPU_PAGE_BYTES)
            .and_then(|whole| whole.checked_add(GPU_PAGE_BYTES));
        let too_large = DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let bytes = named("cuMemAlloc", whole.ok_or(too_large))?;
        // SAFETY: The context is current on this thread.
        let allocation = named("cuMemAlloc", unsafe { result::malloc_sync(bytes) })?;
        let memory = Self {
            context,
            allocation,
            start: allocation.next_multiple_of(GPU_PAGE_BYTES as u64),
            length,
            pci,
        };
        memory.synchronize_copies()?;
        Ok(memory)
    }

    /// First byte, in the GPU's addresses.
    pub(crate) fn address(&self) -> *mut u8 {
        std::ptr::without_provenance_mut(self.start as usize)
    }

    /// PCI address of the GPU, in lower case.
    pub(crate) fn pci(&self) -> &str {
        &self.pci
    }

    /// Sets every byte, and returns when they are set.
    pub(crate) fn fill(&self, value: u8) -> Result<(), DriverFailure> {
        self.context.make_current()?;
        // SAFETY: `start..start + length` is inside the allocation, and the context is current.
        let filled = unsafe { result::memset_d8_sync(self.start, value, self.length) };
        named("cuMemsetD8", filled)?;
        // A memset may return before it is done.
        named("cuCtxSynchronize", ctx::synchronize())
    }

    /// Copies `bytes` to `offset`; nothing is copied where they do not fit.
    pub(crate) fn write_from(&self, offset: usize, bytes: &[u8]) -> Result<(), DriverFailure> {
        let target = self.at(offset, bytes.len())?;
        self.context.make_current()?;
        // SAFETY: `at` has checked that the range is inside the allocation, and the context is current.
        named("cuMemcpyHtoD", unsafe { result::memcpy_htod_sync(target, bytes) })
    }

    /// Copies the bytes at `offset` into `bytes`; nothing is copied where there are fewer.
    pub(crate) fn read_into(&self, offset: usize, bytes: &mut [u8]) -> Result<(), DriverFailure> {
        let source = self.at(offset, bytes.len())?;
        self.context.make_current()?;
        // SAFETY: As in `write_from`.
        named("cuMemcpyDtoH", unsafe { result::memcpy_dtoh_sync(bytes, source) })
    }

    fn at(&self, offset: usize, count: usize) -> Result<sys::CUdeviceptr, DriverFailure> {
        let inside = offset.checked_add(count).is_some_and(|end| end <= self.length);
        let outside = DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE);
        named(
            "copy",
            inside.then_some(self.start + offset as u64).ok_or(outside),
        )
    }

    /// Makes copies and fills of this memory complete before they return, as GPUDirect RDMA requires of memory that
    /// a NIC reads and writes.
    fn synchronize_copies(&self) -> Result<(), DriverFailure> {
        let on: c_uint = 1;
        // SAFETY: The attribute takes an unsigned integer, which lives through the call, and the pointer is the start
        // of an allocation of the current context.
        let code = unsafe {
            sys::cuPointerSetAttribute(
                (&raw const on).cast::<c_void>(),
                sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                self.allocation,
            )
        };
        named("cuPointerSetAttribute", code.result())
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.context.make_current().is_ok() {
            // SAFETY: The allocation is this value's own and freed once. Registrations hold the memory, so no NIC
            // has it. An error means that the process is ending and the driver has freed it.
            let _ending = unsafe { result::free_sync(self.allocation) };
        }
    }
}
