//! Memory that bytes leave from and arrive in: never one kind for another. Allocating asks the kernel or the GPU
//! driver, and checks afterwards what was really got.
//!
//! A [`Memory`] is a fixed range of bytes that a fabric library, a device or another process may write to at any
//! time, so it is never lent out as a slice: bytes are copied in and out, outside measured windows. A copy that races
//! with a transfer may see some bytes before and some after it; nothing worse comes of it.
//!
//! Every kind starts at a page boundary, so that chunks of a striped transfer start where the arithmetic of the
//! transfer says, and no transfer shares a page with the allocator's own data. Pages are touched by the allocating
//! thread before [`Memory::allocate`] returns: pin the thread first, and its node's memory is what it gets.

mod available;
mod cuda;
mod error;
pub(crate) mod ffi;
mod hugepages;
mod maps;
pub(crate) mod pages;

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;

use crds::v1alpha1::MemoryKind;
use snafu::ensure;

pub use error::MemoryError;
use error::{EmptySnafu, OutOfRangeSnafu};
use ffi::device::DeviceMemory;
use ffi::mapping::{Mapping, Span};

/// A range of memory of one kind. Freed with the last reference, which every registration holds.
#[derive(Debug)]
pub struct Memory {
    kind: MemoryKind,
    length: usize,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    Private(Mapping),
    Shared(Mapping, File),
    Device(DeviceMemory),
}

impl Memory {
    /// Allocates `bytes` bytes of `kind`, all zero in host memory and undefined on a GPU. GPU memory is on device 0.
    ///
    /// # Errors
    /// [`MemoryError::Unavailable`] with the cause and what to do when this kind cannot be had here in this size.
    pub fn allocate(kind: MemoryKind, bytes: usize) -> Result<Arc<Self>, MemoryError> {
        ensure!(bytes > 0, EmptySnafu { kind });
        let backing = match kind {
            MemoryKind::Heap => Backing::Private(pages::ordinary(bytes)?),
            MemoryKind::HugePages => Backing::Private(hugepages::allocate(bytes)?),
            MemoryKind::SharedMemory => {
                let (mapping, file) = pages::shared(bytes)?;
                Backing::Shared(mapping, file)
            }
            MemoryKind::Cuda => Backing::Device(cuda::allocate(bytes)?),
        };
        Ok(Arc::new(Self {
            kind,
            length: bytes,
            backing,
        }))
    }

    /// Kind of memory, as asked for and checked.
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// Length in bytes, as asked for; what lies behind it up to the end of the page is not to be used.
    pub fn length(&self) -> usize {
        self.length
    }

    /// First byte, at a page boundary. Not to be dereferenced where [`Memory::is_device`].
    pub fn address(&self) -> *mut u8 {
        match &self.backing {
            Backing::Private(mapping) | Backing::Shared(mapping, _) => mapping.address(),
            Backing::Device(memory) => memory.address(),
        }
    }

    /// Whether the address is a GPU's and not the processor's.
    pub fn is_device(&self) -> bool {
        matches!(self.backing, Backing::Device(_))
    }

    /// PCI address of the GPU that holds the memory, such as `0000:53:00.0`; nothing for host memory.
    pub fn pci(&self) -> Option<&str> {
        match &self.backing {
            Backing::Device(memory) => Some(memory.pci()),
            Backing::Private(_) | Backing::Shared(..) => None,
        }
    }

    /// Descriptor by which another process can map the same bytes; only for shared memory.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.backing {
            Backing::Shared(_, file) => Some(file.as_fd()),
            Backing::Private(_) | Backing::Device(_) => None,
        }
    }

    /// Path by which a process of the same user and PID namespace can open the same bytes while this one lives; only
    /// for shared memory. It has no name in any file system, so nothing is left behind, whatever ends the process.
    pub fn path(&self) -> Option<PathBuf> {
        self.descriptor().map(pages::path_of)
    }

    /// NUMA node that holds every page, as the kernel's map of this process shows it; nothing where the kernel shows
    /// none, where pages lie on several nodes, and for a GPU.
    pub fn numa_node(&self) -> Option<u32> {
        match &self.backing {
            Backing::Private(mapping) | Backing::Shared(mapping, _) => maps::numa_node(mapping.range()),
            Backing::Device(_) => None,
        }
    }

    /// Sets every byte to `value`.
    ///
    /// # Errors
    /// [`MemoryError::Copy`] when the GPU's driver refuses.
    pub fn fill(&self, value: u8) -> Result<(), MemoryError> {
        match &self.backing {
            Backing::Private(_) | Backing::Shared(..) => self.span(0, self.length)?.fill(value),
            Backing::Device(memory) => cuda::fill(memory, value)?,
        }
        Ok(())
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when they do not fit, [`MemoryError::Copy`] when the GPU's driver refuses.
    pub fn write_from(&self, offset: usize, bytes: &[u8]) -> Result<(), MemoryError> {
        match &self.backing {
            Backing::Private(_) | Backing::Shared(..) => self.span(offset, bytes.len())?.write_from(bytes),
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
    /// [`MemoryError::OutOfRange`] when there are fewer, [`MemoryError::Copy`] when the GPU's driver refuses.
    pub fn read_into(&self, offset: usize, bytes: &mut [u8]) -> Result<(), MemoryError> {
        match &self.backing {
            Backing::Private(_) | Backing::Shared(..) => self.span(offset, bytes.len())?.read_into(bytes),
            Backing::Device(memory) => {
                self.check(offset, bytes.len())?;
                cuda::read_into(memory, offset, bytes)?;
            }
        }
        Ok(())
    }

    /// `length` bytes at `offset` of host memory.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`] when there are fewer that the processor can reach: none of a GPU's.
    pub(crate) fn span(&self, offset: usize, length: usize) -> Result<Span<'_>, MemoryError> {
        self.check(offset, length)?;
        match &self.backing {
            Backing::Private(mapping) | Backing::Shared(mapping, _) => mapping.span(offset, length),
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
