//! Memory for sending and receiving payload. Allocation calls the kernel or the GPU driver, and verifies that the
//! returned memory is of the requested kind. It never substitutes another kind.
//!
//! A [`Memory`] is a fixed range of bytes that a fabric library, a device or another process may write to at any time,
//! so no slice of it is ever borrowed: bytes are copied in and out, outside measured windows. A copy that races with a
//! transfer may contain some bytes from before and some from after the transfer; the race has no other effect.
//!
//! Memory of every kind that the runner allocates starts at a page boundary, so that the chunks of a striped transfer
//! start at the computed offsets and no transfer shares a page with the allocator's own data. The allocating thread
//! touches the pages before [`Memory::allocate`] returns, so a thread that was pinned before the call gets memory on
//! its own NUMA node.

pub(crate) mod available;
mod cuda;
mod error;
pub(crate) mod ffi;
mod hugepages;
mod maps;
pub(crate) mod pages;

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crds::v1alpha1::MemoryKind;
use snafu::ensure;

pub use error::MemoryError;
use error::{EmptySnafu, OutOfRangeSnafu};
use ffi::device::DeviceMemory;
pub(crate) use ffi::device::{GpuHandle, HANDLE_BYTES};
pub(crate) use ffi::library::LibraryMemory;
use ffi::mapping::{Mapping, Span};

/// A range of memory of one kind.
///
/// It is freed when the last reference is dropped, and every registration holds a reference.
#[derive(Debug)]
pub struct Memory {
    kind: MemoryKind,
    length: usize,
    backing: Backing,
    /// Nodes that hold the pages, once they have been read.
    numa_nodes: OnceLock<BTreeSet<u32>>,
}

#[derive(Debug)]
enum Backing {
    Private(Mapping),
    Shared(Mapping, File),
    Device(DeviceMemory),
    Library(LibraryMemory),
}

/// Number of bytes that all processes together use on the GPU with CUDA device number `gpu`.
///
/// # Errors
/// Returns [`MemoryError::Unavailable`] if there is no driver or no such GPU.
pub(crate) fn used_gpu_bytes(gpu: u32) -> Result<u64, MemoryError> {
    cuda::used_bytes(gpu)
}

/// Number of GPUs that the driver offers to this process; 0 if there is no driver.
///
/// # Errors
/// Returns [`MemoryError::Driver`] if the driver fails, so that the number of GPUs is unknown.
pub(crate) fn gpu_count() -> Result<u32, MemoryError> {
    cuda::count()
}

impl Memory {
    fn new(kind: MemoryKind, length: usize, backing: Backing) -> Arc<Self> {
        Arc::new(Self {
            kind,
            length,
            backing,
            numa_nodes: OnceLock::new(),
        })
    }

    /// Allocates `bytes` bytes of `kind`. Host memory is zeroed; GPU memory is on GPU 0 and uninitialized.
    ///
    /// # Errors
    /// Returns [`MemoryError::Unavailable`] or [`MemoryError::NotEnough`], with the cause and a fix, if this kind or size
    /// is not available on this machine, and [`MemoryError::Empty`] if `bytes` is 0.
    pub fn allocate(kind: MemoryKind, bytes: usize) -> Result<Arc<Self>, MemoryError> {
        ensure!(bytes > 0, EmptySnafu { kind });
        let backing = match kind {
            MemoryKind::Heap => Backing::Private(pages::ordinary(bytes)?),
            MemoryKind::HugePages => Backing::Private(hugepages::allocate(bytes)?),
            MemoryKind::SharedMemory => {
                let (mapping, file) = pages::allocate_shared(bytes)?;
                Backing::Shared(mapping, file)
            }
            MemoryKind::Cuda => Backing::Device(cuda::allocate(bytes, 0)?),
        };
        Ok(Self::new(kind, bytes, backing))
    }

    /// Allocates `bytes` uninitialized bytes on the GPU with CUDA device number `gpu`.
    ///
    /// # Errors
    /// Returns the errors of [`Memory::allocate`].
    pub fn allocate_on_gpu(gpu: u32, bytes: usize) -> Result<Arc<Self>, MemoryError> {
        let kind = MemoryKind::Cuda;
        ensure!(bytes > 0, EmptySnafu { kind });
        Ok(Self::new(
            kind,
            bytes,
            Backing::Device(cuda::allocate(bytes, gpu)?),
        ))
    }

    /// Maps `bytes` bytes on the GPU with CUDA device number `gpu` that another process allocated and passed as `handle`.
    ///
    /// # Errors
    /// Returns [`MemoryError::Unavailable`] if the GPU's driver cannot map the memory, and [`MemoryError::Empty`] if
    /// `bytes` is 0.
    pub(crate) fn open_on_gpu(gpu: u32, handle: &GpuHandle, bytes: usize) -> Result<Arc<Self>, MemoryError> {
        let kind = MemoryKind::Cuda;
        ensure!(bytes > 0, EmptySnafu { kind });
        Ok(Self::new(
            kind,
            bytes,
            Backing::Device(cuda::open(handle, bytes, gpu)?),
        ))
    }

    /// Handle with which another process can map GPU memory; `None` for host memory.
    ///
    /// # Errors
    /// Returns [`MemoryError::Copy`] if the driver fails.
    pub(crate) fn gpu_handle(&self) -> Result<Option<GpuHandle>, MemoryError> {
        match &self.backing {
            Backing::Device(memory) => cuda::handle(memory).map(Some),
            Backing::Private(_) | Backing::Shared(..) | Backing::Library(_) => Ok(None),
        }
    }

    /// Maps `bytes` bytes of shared memory that another process allocated and passed as `file`. Its pages are mapped
    /// when they are accessed.
    ///
    /// # Errors
    /// Returns [`MemoryError::Unavailable`] if the file cannot be mapped or is shorter than `bytes`, and
    /// [`MemoryError::Empty`] if `bytes` is 0.
    pub fn map_shared(file: File, bytes: usize) -> Result<Arc<Self>, MemoryError> {
        let kind = MemoryKind::SharedMemory;
        ensure!(bytes > 0, EmptySnafu { kind });
        Ok(Self::new(
            kind,
            bytes,
            Backing::Shared(pages::map_existing(&file, bytes)?, file),
        ))
    }

    /// Wraps ordinary host memory that a fabric library allocated. The calling thread sets every byte to 0, and thereby
    /// touches the pages.
    pub(crate) fn from_library(memory: LibraryMemory) -> Arc<Self> {
        let length = memory.length();
        if let Some(span) = memory.span(0, length) {
            span.fill(0);
        }
        Self::new(MemoryKind::Heap, length, Backing::Library(memory))
    }

    /// Makes the CUDA context of GPU memory current on the calling thread. UCX requires this of each thread that
    /// transfers GPU memory. Does nothing for host memory.
    ///
    /// # Errors
    /// Returns [`MemoryError::Copy`] if the driver fails.
    pub fn make_current(&self) -> Result<(), MemoryError> {
        match &self.backing {
            Backing::Device(memory) => cuda::make_current(memory),
            Backing::Private(_) | Backing::Shared(..) | Backing::Library(_) => Ok(()),
        }
    }

    /// Kind of memory, as requested and verified.
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// Requested length in bytes. Callers must not use the rest of the last page.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Address of the first byte, which is at a page boundary unless a library allocated the memory. Must not be
    /// dereferenced if [`Memory::is_device`] returns true.
    pub fn address(&self) -> *mut u8 {
        match &self.backing {
            Backing::Private(mapping) | Backing::Shared(mapping, _) => mapping.address(),
            Backing::Device(memory) => memory.address(),
            Backing::Library(memory) => memory.address(),
        }
    }

    /// Whether the memory is on a GPU, where the CPU cannot access it.
    pub fn is_device(&self) -> bool {
        matches!(self.backing, Backing::Device(_))
    }

    /// PCI address of the GPU that holds the memory, such as `0000:53:00.0`; `None` for host memory.
    pub fn pci(&self) -> Option<&str> {
        match &self.backing {
            Backing::Device(memory) => Some(memory.pci()),
            Backing::Private(_) | Backing::Shared(..) | Backing::Library(_) => None,
        }
    }

    /// CUDA device number of the GPU that holds the memory; `None` for host memory.
    pub fn gpu(&self) -> Option<i32> {
        match &self.backing {
            Backing::Device(memory) => Some(memory.ordinal()),
            Backing::Private(_) | Backing::Shared(..) | Backing::Library(_) => None,
        }
    }

    /// File descriptor through which another process can map the same bytes; `None` unless this is shared memory.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.backing {
            Backing::Shared(_, file) => Some(file.as_fd()),
            Backing::Private(_) | Backing::Device(_) | Backing::Library(_) => None,
        }
    }

    /// Path at which a process running as the same user in the same PID namespace can open the same bytes while this
    /// process is running; `None` unless this is shared memory.
    ///
    /// The file is not linked into any file system, so nothing remains after the process exits or crashes.
    pub fn path(&self) -> Option<PathBuf> {
        self.descriptor().map(pages::proc_path)
    }

    /// NUMA nodes that hold the pages, according to the kernel's memory map of this process.
    ///
    /// Empty for GPU memory, and if the kernel does not report the nodes of exactly these pages. Reading the memory map
    /// takes up to a millisecond, and all arms of a process share their memory, so only the first call reads it. The pages
    /// must have been touched before; pages that the kernel moves later are not noticed.
    pub fn numa_nodes(&self) -> &BTreeSet<u32> {
        self.numa_nodes.get_or_init(|| match &self.backing {
            Backing::Private(mapping) | Backing::Shared(mapping, _) => maps::numa_nodes(mapping.range()),
            Backing::Library(memory) => maps::numa_nodes(memory.range()),
            Backing::Device(_) => BTreeSet::new(),
        })
    }

    /// NUMA node that holds all pages; `None` for GPU memory, if the pages are on several nodes, or if the kernel does
    /// not report the nodes.
    pub fn numa_node(&self) -> Option<u32> {
        let nodes = self.numa_nodes();
        nodes.first().copied().filter(|_| nodes.len() == 1)
    }

    /// Sets every byte to `value`.
    ///
    /// # Errors
    /// Returns [`MemoryError::Copy`] if the GPU driver fails.
    pub fn fill(&self, value: u8) -> Result<(), MemoryError> {
        match &self.backing {
            Backing::Private(_) | Backing::Shared(..) | Backing::Library(_) => {
                self.span(0, self.length)?.fill(value)
            }
            Backing::Device(memory) => cuda::fill(memory, value)?,
        }
        Ok(())
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Errors
    /// Returns [`MemoryError::OutOfRange`] if the range extends beyond the memory, and [`MemoryError::Copy`] if the GPU
    /// driver fails.
    pub fn write_from(&self, offset: usize, bytes: &[u8]) -> Result<(), MemoryError> {
        match &self.backing {
            Backing::Private(_) | Backing::Shared(..) | Backing::Library(_) => {
                self.span(offset, bytes.len())?.write_from(bytes)
            }
            Backing::Device(memory) => {
                self.check(offset, bytes.len())?;
                cuda::write_from(memory, offset, bytes)?;
            }
        }
        Ok(())
    }

    /// Copies the bytes at `offset` into `bytes`.
    ///
    /// # Errors
    /// Returns [`MemoryError::OutOfRange`] if the range extends beyond the memory, and [`MemoryError::Copy`] if the GPU
    /// driver fails.
    pub fn read_into(&self, offset: usize, bytes: &mut [u8]) -> Result<(), MemoryError> {
        match &self.backing {
            Backing::Private(_) | Backing::Shared(..) | Backing::Library(_) => {
                self.span(offset, bytes.len())?.read_into(bytes)
            }
            Backing::Device(memory) => {
                self.check(offset, bytes.len())?;
                cuda::read_into(memory, offset, bytes)?;
            }
        }
        Ok(())
    }

    /// Returns a span of `length` bytes at `offset` in host memory.
    ///
    /// # Errors
    /// Returns [`MemoryError::OutOfRange`] if the range extends beyond the memory, and always for GPU memory, which the
    /// CPU cannot access.
    pub(crate) fn span(&self, offset: usize, length: usize) -> Result<Span<'_>, MemoryError> {
        self.check(offset, length)?;
        match &self.backing {
            Backing::Private(mapping) | Backing::Shared(mapping, _) => mapping.span(offset, length),
            Backing::Library(memory) => memory.span(offset, length),
            Backing::Device(_) => None,
        }
        .ok_or(MemoryError::OutOfRange {
            offset,
            count: length,
            length: 0,
        })
    }

    fn check(&self, offset: usize, count: usize) -> Result<(), MemoryError> {
        ensure!(
            offset.checked_add(count).is_some_and(|end| end <= self.length),
            OutOfRangeSnafu {
                offset,
                count,
                length: self.length
            }
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests;
