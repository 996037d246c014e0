//! Ordinary pages, private and shared. Calls the kernel.
//!
//! Transparent huge pages are disabled for both kinds, because the kernel's decision to use them depends on the address
//! of the range, which differs between processes, so measurements in different processes would not be comparable.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::PathBuf;

use crds::v1alpha1::MemoryKind;
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, memfd_create};
use rustix::param::page_size;

use super::MemoryError;
use super::available;
use super::ffi::mapping::{Mapping, Pages};

/// Allocates private pages of this process.
///
/// # Errors
/// Returns `NotEnough` if the machine or the cgroup has too little memory, and `Unavailable` if the kernel fails to
/// provide it.
pub(super) fn ordinary(bytes: usize) -> Result<Mapping, MemoryError> {
    let kind = MemoryKind::Heap;
    let _reservation = available::reserve(bytes as u64, "heap buffers")?;
    Mapping::new(&Pages::Ordinary, bytes)
        .and_then(populate)
        .map_err(|error| unavailable_error(kind, bytes, &error))
}

/// Allocates shared pages in an anonymous file of fixed size.
///
/// The file is sealed against truncation, so no process can cause a fault in another process that maps it.
///
/// # Errors
/// Returns `NotEnough` if the machine or the cgroup has too little memory, and `Unavailable` if the kernel fails to
/// provide it.
pub(crate) fn allocate_shared(bytes: usize) -> Result<(Mapping, File), MemoryError> {
    let kind = MemoryKind::SharedMemory;
    let _reservation = available::reserve(bytes as u64, "buffers in shared memory")?;
    shared_file(bytes)
        .and_then(|file| Ok((map(&file, bytes)?, file)))
        .map_err(|error| unavailable_error(kind, bytes, &error))
}

/// Creates a sealed anonymous file of at least `bytes` bytes.
fn shared_file(bytes: usize) -> std::io::Result<File> {
    let descriptor = memfd_create("fabricbench", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let length = bytes
        .checked_next_multiple_of(page_size())
        .ok_or(std::io::ErrorKind::OutOfMemory)?;
    // If memory is exhausted, this allocation returns an error, whereas touching the pages would raise a fatal signal.
    fallocate(&descriptor, FallocateFlags::empty(), 0, length as u64)?;
    fcntl_add_seals(&descriptor, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(File::from(descriptor))
}

/// Maps `file` and populates its pages.
pub(crate) fn map(file: &File, bytes: usize) -> std::io::Result<Mapping> {
    Mapping::new(&Pages::File(file.as_fd()), bytes).and_then(populate)
}

/// Maps another process's file without populating it. Accessing bytes beyond the end of a file would raise SIGBUS, so
/// the file length is checked. A file created by [`allocate_shared`] cannot shrink afterwards.
pub(super) fn map_existing(file: &File, bytes: usize) -> Result<Mapping, MemoryError> {
    let kind = MemoryKind::SharedMemory;
    let mapped = || {
        if file.metadata()?.len() < bytes as u64 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Mapping::new(&Pages::File(file.as_fd()), bytes)
    };
    mapped().map_err(|error: std::io::Error| unavailable_error(kind, bytes, &error))
}

pub(crate) fn proc_path(descriptor: BorrowedFd<'_>) -> PathBuf {
    PathBuf::from(format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        descriptor.as_raw_fd()
    ))
}

fn populate(mapping: Mapping) -> std::io::Result<Mapping> {
    mapping.populate()?;
    Ok(mapping)
}

fn unavailable_error(kind: MemoryKind, bytes: usize, error: &std::io::Error) -> MemoryError {
    MemoryError::Unavailable {
        kind,
        bytes,
        message: format!("{error}; give the worker more memory, or use smaller sizes or a smaller window"),
    }
}
