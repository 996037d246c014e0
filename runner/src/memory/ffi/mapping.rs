//! Pages mapped by the kernel, and copies in and out of them. Maps and unmaps; no other I/O.
#![allow(
    unsafe_code,
    reason = "mmap, and memory that other processes and devices write to, have no safe form"
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

/// Size of a huge page; the one size that is asked for.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 * 1024 * 1024;

/// What the pages are of.
pub(crate) enum Pages<'a> {
    /// Ordinary pages of this process.
    Ordinary,
    /// Huge pages of this process.
    Huge,
    /// The pages of a file, from its start.
    File(BorrowedFd<'a>),
}

/// A range of mapped pages, readable and writable, between two inaccessible pages.
///
/// These catch a library that writes past the end, and keep the kernel from merging the range with a neighbour, so
/// that the kernel's maps show exactly this range.
#[derive(Debug)]
pub(crate) struct Mapping {
    _reserved: Reserved,
    address: NonNull<u8>,
    length: usize,
}

// SAFETY: The mapping belongs to the process, not to a thread: any thread may use and unmap it. `Mapping` hands out
// no reference to plain bytes, only atomics and `Span`, whose copies say themselves what a race does.
unsafe impl Send for Mapping {}
// SAFETY: As for `Send`: `&Mapping` gives atomics and copies, and no method changes the struct.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps at least `bytes` bytes, rounded up to whole pages, zero or as the file has them, and not yet touched.
    pub(crate) fn new(pages: &Pages<'_>, bytes: usize) -> io::Result<Self> {
        let page = match pages {
            Pages::Huge => HUGE_PAGE_BYTES,
            Pages::Ordinary | Pages::File(_) => page_size(),
        };
        let length = bytes
            .checked_next_multiple_of(page)
            .ok_or(io::ErrorKind::OutOfMemory)?;
        let reserved = Reserved::new(
            length
                .checked_add(2 * page_size() + page)
                .ok_or(io::ErrorKind::OutOfMemory)?,
        )?;
        // One page in front, then up to the next boundary: `2 * page_size() + page` leaves room for both and for the
        // page behind.
        let start = reserved.start.as_ptr().wrapping_add(page_size());
        let target = start.wrapping_add(start.align_offset(page));
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let mapped = match pages {
            Pages::Ordinary | Pages::Huge => {
                let mut flags = MapFlags::PRIVATE | MapFlags::FIXED;
                if matches!(pages, Pages::Huge) {
                    flags |= MapFlags::HUGETLB | MapFlags::HUGE_2MB;
                }
                // SAFETY: The target range lies inside the reserved range, which this function has just mapped and
                // nobody else knows, so MAP_FIXED replaces no page that is in use.
                unsafe { mmap_anonymous(target.cast(), length, access, flags) }
            }
            Pages::File(file) => {
                let flags = MapFlags::SHARED | MapFlags::FIXED;
                // SAFETY: As above: the replaced pages are our own and unused.
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

    /// Makes every page present, touched by the calling thread.
    pub(crate) fn populate(&self) -> io::Result<()> {
        // SAFETY: The range is a mapping of ours; populating changes no byte of it.
        match unsafe { madvise(self.start(), self.length, Advice::LinuxPopulateWrite) } {
            // Before Linux 5.14 there is no such advice.
            Err(Errno::INVAL) => {
                for page in (0..self.length).step_by(page_size()) {
                    // SAFETY: `page` is below `length`, so the byte is in the mapping.
                    let byte = unsafe { self.address.as_ptr().add(page) };
                    // SAFETY: `byte` is mapped and readable, and volatile access assumes nothing of other writers.
                    let value = unsafe { byte.read_volatile() };
                    // SAFETY: As above. Nobody but the creator uses the mapping yet, so no foreign write is lost.
                    unsafe { byte.write_volatile(value) };
                }
                Ok(())
            }
            other => Ok(other?),
        }
    }

    /// First byte.
    pub(crate) fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    /// Addresses of the mapped pages.
    pub(crate) fn range(&self) -> Range<u64> {
        let start = self.address.as_ptr().addr() as u64;
        start..start + self.length as u64
    }

    /// `length` bytes at `offset`; nothing where the mapping has fewer.
    pub(crate) fn span(&self, offset: usize, length: usize) -> Option<Span<'_>> {
        let whole = Span {
            start: self.address,
            length: self.length,
            mapping: PhantomData,
        };
        whole.part(offset as u64, length as u64)
    }

    /// `N` words at `offset`, which must be a multiple of 8; nothing where the mapping has fewer.
    pub(crate) fn words<const N: usize>(&self, offset: usize) -> Option<&[AtomicU64; N]> {
        if !offset.is_multiple_of(align_of::<AtomicU64>()) {
            return None;
        }
        let span = self.span(offset, N * size_of::<AtomicU64>())?;
        // SAFETY: The span has N words that are mapped for the lifetime of `&self` and aligned, for the mapping
        // starts at a page. Words are only ever used as atomics, here and by every process that shares them.
        Some(unsafe { span.start.cast().as_ref() })
    }

    /// The half word at `offset`, which must be a multiple of 4, for a futex.
    pub(crate) fn half_word(&self, offset: usize) -> Option<&AtomicU32> {
        if !offset.is_multiple_of(align_of::<AtomicU32>()) {
            return None;
        }
        let span = self.span(offset, size_of::<AtomicU32>())?;
        // SAFETY: As in `words`.
        Some(unsafe { span.start.cast().as_ref() })
    }

    fn start(&self) -> *mut c_void {
        self.address.as_ptr().cast()
    }

    fn forbid_transparent_huge_pages(&self) -> io::Result<()> {
        // SAFETY: The range is a mapping of ours; the advice changes no byte of it.
        match unsafe { madvise(self.start(), self.length, Advice::LinuxNoHugepage) } {
            // A kernel without transparent huge pages does not know the advice and needs none.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A range of addresses that is ours, and unmapped with everything that was mapped over it.
#[derive(Debug)]
struct Reserved {
    start: NonNull<u8>,
    length: usize,
}

impl Reserved {
    fn new(length: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: Without MAP_FIXED the kernel chooses addresses that are not in use.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), length, ProtFlags::empty(), flags) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// Unmaps what lies before and behind the `length` bytes at `offset`, which a mapping with `MAP_FIXED` has failed
    /// to replace: the kernel may have taken them away before it failed (it does where huge pages are short), and
    /// another thread may have got these addresses since.
    fn release_around(self, offset: usize, length: usize) {
        let kept = ManuallyDrop::new(self);
        let behind = offset + length;
        for (start, length) in [(0, offset), (behind, kept.length - behind)] {
            // SAFETY: The range lies inside the reserved one and outside of what was to be replaced, so it is still
            // the untouched reservation of ours, and `kept` is not dropped.
            let _unmapped = unsafe { munmap(kept.start.as_ptr().wrapping_add(start).cast(), length) };
            debug_assert!(_unmapped.is_ok(), "our own range is unmapped");
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // SAFETY: The range is ours alone, and no `Span` or word outlives the `Mapping` that owns it.
        let _unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
        debug_assert!(_unmapped.is_ok(), "our own range is unmapped");
    }
}

/// Bytes of a mapping. Others may write them at any time, so they are copied and never borrowed.
///
/// The copies are calls into the C library's `memmove` and `memset` on memory whose content the compiler knows nothing
/// of. When a transfer writes the same bytes meanwhile, the copy has some bytes from before and some from after it:
/// callers copy only what no transfer in flight covers, or check what they got.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    start: NonNull<u8>,
    length: usize,
    mapping: PhantomData<&'a Mapping>,
}

impl<'a> Span<'a> {
    /// `length` bytes at `offset` of this span; nothing where it has fewer.
    #[inline]
    pub(crate) fn part(self, offset: u64, length: u64) -> Option<Span<'a>> {
        let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
        offset.checked_add(length).filter(|end| *end <= self.length)?;
        // SAFETY: `offset + length` is at most the length of the span, so the start is in it or just behind it.
        let start = unsafe { self.start.add(offset) };
        Some(Self {
            start,
            length,
            mapping: PhantomData,
        })
    }

    /// Copies as many bytes as both have from this span to `target`, which may overlap.
    #[inline]
    pub(crate) fn copy_to(self, target: Span<'_>) {
        let length = self.length.min(target.length);
        // SAFETY: Both spans have `length` mapped bytes, readable and writable, for their lifetimes; `copy` takes
        // overlapping ranges.
        unsafe { ptr::copy(self.start.as_ptr(), target.start.as_ptr(), length) }
    }

    /// Copies as many bytes as both have from `bytes`.
    pub(crate) fn write_from(self, bytes: &[u8]) {
        let length = self.length.min(bytes.len());
        // SAFETY: The span has `length` mapped and writable bytes; no slice can lie in a mapping, so they are apart.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr(), length) }
    }

    /// Copies as many bytes as both have into `bytes`.
    pub(crate) fn read_into(self, bytes: &mut [u8]) {
        let length = self.length.min(bytes.len());
        // SAFETY: As in `write_from`, the other way.
        unsafe { ptr::copy_nonoverlapping(self.start.as_ptr(), bytes.as_mut_ptr(), length) }
    }

    /// Sets every byte.
    pub(crate) fn fill(self, value: u8) {
        // SAFETY: The span has `length` mapped and writable bytes.
        unsafe { ptr::write_bytes(self.start.as_ptr(), value, self.length) }
    }
}
