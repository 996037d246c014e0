//! Zeroed padding after a struct, for fields that releases after 1.17 appended to the struct.

use std::mem::MaybeUninit;

/// Padding size in bytes.
///
/// From 1.17 to 2.6, `fi_mr_attr` grew the most (by 32 bytes); the rest is reserved for future releases.
const PADDING_BYTES: usize = 256;

/// C struct that the caller allocates, and that a newer library may read or write beyond its 1.17 fields: 1.20 added
/// `src_addr` to `fi_cq_err_entry`, and 1.19 to 2.0 added `hmem_data`, `page_size`, `base_mr` and `sub_mr_cnt` to
/// `fi_mr_attr`.
///
/// Fields beyond the 1.17 layout are zero, which means "not set" for all of them.
#[repr(C)]
pub struct Padded<T> {
    fields: T,
    padding: [u8; PADDING_BYTES],
}

impl<T: Copy> Padded<T> {
    /// Creates a struct whose fields and padding are zero.
    ///
    /// # Safety
    ///
    /// All-zero bytes must be a valid `T`. This holds for the structs in [`crate::bindings`], which consist of
    /// integers, raw pointers, and optional function pointers.
    pub const unsafe fn zeroed() -> Self {
        // SAFETY: the caller guarantees that zero is a valid `T`, and the padding is an array of bytes.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }

    /// Fields that the 1.17 headers define.
    pub fn fields(&self) -> &T {
        &self.fields
    }

    /// Fields that the 1.17 headers define, mutably.
    pub fn fields_mut(&mut self) -> &mut T {
        &mut self.fields
    }

    /// Pointer to pass to the library. Unlike a pointer from [`Self::fields_mut`], it may access the padding.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        std::ptr::from_mut(self).cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::{fi_cq_err_entry, fi_mr_attr};

    #[test]
    fn fields_come_first_and_padding_is_writable() {
        // SAFETY: an error entry consists of integers and pointers.
        let mut entry = unsafe { Padded::<fi_cq_err_entry>::zeroed() };
        let start = entry.as_mut_ptr();
        assert_eq!(std::ptr::from_ref(entry.fields()), start.cast_const());
        // SAFETY: the first byte after the fields is inside the padding of this value.
        let past = unsafe { start.add(1) }.cast::<u8>();
        // SAFETY: as above; the pointer was derived from the whole value.
        unsafe { past.write(7) };
        assert_eq!(entry.padding[0], 7);
    }

    #[test]
    fn padding_has_room_for_the_fields_of_the_newest_reviewed_headers() {
        // 2.6: hmem_data, page_size, base_mr (8 bytes each) and sub_mr_cnt (8).
        assert!(size_of::<Padded<fi_mr_attr>>() >= size_of::<fi_mr_attr>() + 32);
    }
}
