//! Ordinary pages, private and shared. Asks the kernel.
//!
//! Transparent huge pages are turned off for both: whether the kernel makes one depends on where it happens to place
//! the range, which would differ from one process to the next.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::PathBuf;

use crds::v1alpha1::MemoryKind;
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, memfd_create};
use rustix::param::page_size;

use super::MemoryError;
use super::available;
use super::ffi::mapping::{Mapping, Pages};

/// Private pages of this process.
///
/// # Errors
/// `Unavailable` when the machine or the control group has no room.
pub(super) fn ordinary(bytes: usize) -> Result<Mapping, MemoryError> {
    let kind = MemoryKind::Heap;
    available::check(kind, bytes)?;
    Mapping::new(&Pages::Ordinary, bytes)
        .and_then(populated)
        .map_err(|error| unavailable(kind, bytes, &error))
}

/// Shared pages, in a file without a name that neither shrinks nor grows: a peer that maps it cannot be made to fault
/// by another that truncates it.
///
/// # Errors
/// `Unavailable` when the machine or the control group has no room.
pub(crate) fn shared(bytes: usize) -> Result<(Mapping, File), MemoryError> {
    let kind = MemoryKind::SharedMemory;
    available::check(kind, bytes)?;
    shared_file(bytes)
        .and_then(|file| Ok((map(&file, bytes)?, file)))
        .map_err(|error| unavailable(kind, bytes, &error))
}

/// A sealed file without a name, of at least `bytes` bytes.
fn shared_file(bytes: usize) -> std::io::Result<File> {
    let descriptor = memfd_create("fabricbench", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let length = bytes
        .checked_next_multiple_of(page_size())
        .ok_or(std::io::ErrorKind::OutOfMemory)?;
    // Allocating now turns a full machine into an error here, where touching the pages would be a fatal signal.
    fallocate(&descriptor, FallocateFlags::empty(), 0, length as u64)?;
    fcntl_add_seals(&descriptor, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(File::from(descriptor))
}

/// Maps `file` and makes its pages present.
pub(crate) fn map(file: &File, bytes: usize) -> std::io::Result<Mapping> {
    Mapping::new(&Pages::File(file.as_fd()), bytes).and_then(populated)
}

/// Where another process finds the file behind a descriptor of this one.
pub(crate) fn path_of(descriptor: BorrowedFd<'_>) -> PathBuf {
    PathBuf::from(format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        descriptor.as_raw_fd()
    ))
}

fn populated(mapping: Mapping) -> std::io::Result<Mapping> {
    mapping.populate()?;
    Ok(mapping)
}

fn unavailable(kind: MemoryKind, bytes: usize, error: &std::io::Error) -> MemoryError {
    MemoryError::Unavailable {
        kind,
        bytes,
        message: format!("{error}; give the worker more memory, or use smaller sizes or a smaller window"),
    }
}
