//! Pages mapped by the kernel, and copies to and from these pages. Maps and unmaps pages, but performs no other I/O.
#![allow(
    unsafe_code,
    reason = "mmap, and memory that other processes and devices write to, have no safe interface"
)]

use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use rustix::param::page_size;

/// Size of a huge page, in bytes. No other size is used.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 * 1024 * 1024;

/// Kind of pages to map.
pub(crate) enum Pages<'a> {
    /// Private ordinary pages of this process.
    Ordinary,
    /// Private huge pages of this process.
    Huge,
    /// Pages of a file, from its start.
    File(BorrowedFd<'a>),
}

/// A range of mapped pages, readable and writable, between two inaccessible guard pages.
///
/// The guard pages catch a library that writes past the end, and prevent the kernel from merging the range with an
/// adjacent range, so that the kernel's maps show exactly this range.
#[derive(Debug)]
pub(crate) struct Mapping {
    _reserved: ReservedRange,
    address: NonNull<u8>,
    length: usize,
}

// SAFETY: The mapping belongs to the process, not to a thread, so any thread may use and unmap it. `Mapping` returns no
// references to plain bytes, only atomics and `Span`, whose documentation describes the effect of a race on copies.
unsafe impl Send for Mapping {}
// SAFETY: The reasoning for `Send` applies: `&Mapping` provides only atomics and copies, and no method modifies the
// struct.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps at least `bytes` bytes, rounded up to whole pages.
    ///
    /// The pages contain zeros or the file's content, and are not populated yet.
    pub(crate) fn new(pages: &Pages<'_>, bytes: usize) -> io::Result<Self> {
        let page = match pages {
            Pages::Huge => HUGE_PAGE_BYTES,
            Pages::Ordinary | Pages::File(_) => page_size(),
        };
        let length = bytes
            .checked_next_multiple_of(page)
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let reserved = ReservedRange::new(
            length
                .checked_add(2 * page_size() + page)
                .ok_or(io::ErrorKind::OutOfMemory)?,
        )?;
        // The mapping starts at the first boundary after the leading guard page. The additional bytes in the reserved
        // range, `2 * page_size() + page`, cover the alignment and both guard pages.
        let start = reserved.start.as_ptr().wrapping_add(page_size());
        let target = start.wrapping_add(start.align_offset(page));
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let mapped = match pages {
            Pages::Ordinary | Pages::Huge => {
                let mut flags = MapFlags::PRIVATE | MapFlags::FIXED;
                if matches!(pages, Pages::Huge) {
                    flags |= MapFlags::HUGETLB | MapFlags::HUGE_2MB;
                }
                // SAFETY: The target range is inside the reserved range, which this function has just mapped and has
                // not shared, so MAP_FIXED replaces no page that is in use.
                unsafe { mmap_anonymous(target.cast(), length, access, flags) }
            }
            Pages::File(file) => {
                let flags = MapFlags::SHARED | MapFlags::FIXED;
                // SAFETY: As above, the replaced pages belong to the reserved range and are unused.
                unsafe { mmap(target.cast(), length, access, flags, file, 0) }
            }
        };
        let mapped = match mapped {
            Ok(mapped) => mapped,
            Err(error) => {
                let offset = target.addr() - reserved.start.addr().get();
                reserved.release_around(offset, length);
                return Err(error.into());
            }
        };
        let address = NonNull::new(mapped.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mapping = Self {
            _reserved: reserved,
            address,
            length,
        };
        if !matches!(pages, Pages::Huge) {
            mapping.forbid_transparent_huge_pages()?;
        }
        Ok(mapping)
    }

    /// Populates all pages from the calling thread.
    pub(crate) fn populate(&self) -> io::Result<()> {
        // SAFETY: The range is mapped by `self`, and populating it does not change its bytes.
        match unsafe { madvise(self.start(), self.length, Advice::LinuxPopulateWrite) } {
            // Linux before 5.14 does not support this advice.
            Err(Errno::INVAL) => {
                for page in (0..self.length).step_by(page_size()) {
                    // SAFETY: `page` is below `length`, so the byte is in the mapping.
                    let byte = unsafe { self.address.as_ptr().add(page) };
                    // SAFETY: `byte` is mapped and readable, and a volatile access makes no assumptions about other
                    // writers.
                    let value = unsafe { byte.read_volatile() };
                    // SAFETY: As above. Only the creator uses the mapping at this point, so no other writes are lost.
                    unsafe { byte.write_volatile(value) };
                }
                Ok(())
            }
            other => Ok(other?),
        }
    }

    /// Address of the first byte.
    pub(crate) fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    /// Address range of the mapped pages.
    pub(crate) fn range(&self) -> Range<u64> {
        let start = self.address.as_ptr().addr() as u64;
        start..start + self.length as u64
    }

    /// Returns a span of `length` bytes at `offset`; `None` if the mapping is too short.
    pub(crate) fn span(&self, offset: usize, length: usize) -> Option<Span<'_>> {
        // SAFETY: The mapping has `length` readable and writable bytes, and `&self` keeps it mapped.
        let whole = unsafe { Span::new(self.address, self.length) };
        whole.subspan(offset as u64, length as u64)
    }

    /// `N` 64-bit words at `offset`; `None` if `offset` is not a multiple of 8 or the mapping is too short.
    pub(crate) fn words<const N: usize>(&self, offset: usize) -> Option<&[AtomicU64; N]> {
        if !offset.is_multiple_of(align_of::<AtomicU64>()) {
            return None;
        }
        let span = self.span(offset, N * size_of::<AtomicU64>())?;
        // SAFETY: The span has N words that are mapped for the lifetime of `&self`. They are aligned, because the
        // mapping starts at a page boundary and `offset` is a multiple of 8. Every process that shares the words
        // accesses them only as atomics.
        Some(unsafe { span.start.cast().as_ref() })
    }

    /// The 32-bit word at `offset`, for use as a futex; `None` if `offset` is not a multiple of 4 or the mapping is too
    /// short.
    pub(crate) fn half_word(&self, offset: usize) -> Option<&AtomicU32> {
        if !offset.is_multiple_of(align_of::<AtomicU32>()) {
            return None;
        }
        let span = self.span(offset, size_of::<AtomicU32>())?;
        // SAFETY: The reasoning in `words` applies, with an offset that is a multiple of 4.
        Some(unsafe { span.start.cast().as_ref() })
    }

    fn start(&self) -> *mut c_void {
        self.address.as_ptr().cast()
    }

    fn forbid_transparent_huge_pages(&self) -> io::Result<()> {
        // SAFETY: The range is mapped by `self`, and the advice does not change its bytes.
        match unsafe { madvise(self.start(), self.length, Advice::LinuxNoHugepage) } {
            // A kernel without transparent huge pages rejects the advice and does not need it.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A reserved range of addresses. Dropping it unmaps the range and everything that was mapped over it.
#[derive(Debug)]
struct ReservedRange {
    start: NonNull<u8>,
    length: usize,
}

impl ReservedRange {
    fn new(length: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: Without MAP_FIXED the kernel selects addresses that are not in use.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), length, ProtFlags::empty(), flags) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// Unmaps the range except for the `length` bytes at `offset`, which a mapping with `MAP_FIXED` failed to replace.
    ///
    /// The kernel may have unmapped these bytes before it failed (it does so if there are too few huge pages), and may
    /// have assigned their addresses to another thread since.
    fn release_around(self, offset: usize, length: usize) {
        let reserved = ManuallyDrop::new(self);
        let end = offset + length;
        for (start, length) in [(0, offset), (end, reserved.length - end)] {
            // SAFETY: The range is inside the reserved range and outside the bytes that were to be replaced, so it is
            // still reserved and unchanged. `reserved` is not dropped, so the range is unmapped once.
            let _unmapped = unsafe { munmap(reserved.start.as_ptr().wrapping_add(start).cast(), length) };
            debug_assert!(_unmapped.is_ok(), "the reserved range cannot be unmapped");
        }
    }
}

impl Drop for ReservedRange {
    fn drop(&mut self) {
        // SAFETY: This value owns the range, and no `Span` or word outlives the `Mapping` that owns this value.
        let _unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
        debug_assert!(_unmapped.is_ok(), "the reserved range cannot be unmapped");
    }
}

/// Bytes of a mapping, or of memory that a library allocated.
///
/// Devices and other processes may write to them at any time, so the bytes are copied and never borrowed.
///
/// The copies are calls to the C library's `memmove` and `memset` on memory whose content is unknown to the compiler.
/// If a transfer writes the same bytes concurrently, the copy contains some bytes from before and some from after the
/// transfer. Callers copy only bytes that no transfer in flight covers, or verify the copied bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    start: NonNull<u8>,
    length: usize,
    owner: PhantomData<&'a ()>,
}

impl<'a> Span<'a> {
    /// # Safety
    ///
    /// For the lifetime `'a`, the `length` bytes at `start` must be mapped, readable and writable, and no reference to
    /// them may exist.
    pub(super) unsafe fn new(start: NonNull<u8>, length: usize) -> Self {
        Self {
            start,
            length,
            owner: PhantomData,
        }
    }

    /// Returns a span of `length` bytes at `offset` in this span; `None` if this span is too short.
    #[inline]
    pub(crate) fn subspan(self, offset: u64, length: u64) -> Option<Span<'a>> {
        let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
        offset.checked_add(length).filter(|end| *end <= self.length)?;
        // SAFETY: `offset + length` is at most the length of the span, so the start is inside the span or directly
        // after its last byte.
        let start = unsafe { self.start.add(offset) };
        Some(Self {
            start,
            length,
            owner: PhantomData,
        })
    }

    /// Copies bytes from this span to `target`, up to the shorter length. The spans may overlap.
    #[inline]
    pub(crate) fn copy_to(self, target: Span<'_>) {
        let length = self.length.min(target.length);
        // SAFETY: Both spans have `length` mapped bytes that are readable and writable for their lifetimes, and `copy`
        // allows overlapping ranges.
        unsafe { ptr::copy(self.start.as_ptr(), target.start.as_ptr(), length) }
    }

    /// Copies bytes from `bytes` to this span, up to the shorter length.
    pub(crate) fn write_from(self, bytes: &[u8]) {
        let length = self.length.min(bytes.len());
        // SAFETY: The span has `length` mapped and writable bytes. No slice can be inside a mapping, so the ranges do
        // not overlap.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr(), length) }
    }

    /// Copies bytes from this span to `bytes`, up to the shorter length.
    pub(crate) fn read_into(self, bytes: &mut [u8]) {
        let length = self.length.min(bytes.len());
        // SAFETY: The reasoning in `write_from` applies, with source and destination swapped.
        unsafe { ptr::copy_nonoverlapping(self.start.as_ptr(), bytes.as_mut_ptr(), length) }
    }

    /// Sets every byte.
    pub(crate) fn fill(self, value: u8) {
        // SAFETY: The span has `length` mapped and writable bytes.
        unsafe { ptr::write_bytes(self.start.as_ptr(), value, self.length) }
    }
}
