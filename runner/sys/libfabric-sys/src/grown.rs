//! Room behind a struct for fields that releases after 1.17 appended to it.

use std::mem::MaybeUninit;

/// Bytes kept behind the known fields. The largest growth from 1.17 to the 2.6 series is that of
/// `fi_mr_attr` (32 bytes); the rest is for releases to come.
const ROOM: usize = 256;

/// A C struct that this side allocates and a newer library may read or write past its 1.17 fields:
/// `fi_cq_err_entry` got `src_addr` in 1.20, `fi_mr_attr` got `hmem_data`, `page_size`, `base_mr` and
/// `sub_mr_cnt` from 1.19 to 2.0. Unknown fields are zero, which is "not given" for all of them.
#[repr(C)]
pub struct Grown<T> {
    known: T,
    room: [u8; ROOM],
}

impl<T: Copy> Grown<T> {
    /// All zero, the room included.
    ///
    /// # Safety
    ///
    /// All-zero bytes must be a valid `T`. That holds for the structs of [`crate::bindings`]: integers,
    /// raw pointers, and optional function pointers.
    pub const unsafe fn zeroed() -> Self {
        // SAFETY: the caller promises that zero is a valid `T`; the room is bytes.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }

    /// The fields that the 1.17 headers name.
    pub fn known(&self) -> &T {
        &self.known
    }

    /// The same, to fill in.
    pub fn known_mut(&mut self) -> &mut T {
        &mut self.known
    }

    /// What to hand to the library. It covers the room, which a pointer from [`Self::known_mut`] would not.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        std::ptr::from_mut(self).cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::{fi_cq_err_entry, fi_mr_attr};

    #[test]
    fn the_known_fields_come_first_and_the_room_is_writable() {
        // SAFETY: an error entry is integers and pointers.
        let mut entry = unsafe { Grown::<fi_cq_err_entry>::zeroed() };
        let start = entry.as_mut_ptr();
        assert_eq!(std::ptr::from_ref(entry.known()), start.cast_const());
        // SAFETY: one byte past the known fields lies inside the room of this value.
        let past = unsafe { start.add(1) }.cast::<u8>();
        // SAFETY: as above; the pointer came from the whole value.
        unsafe { past.write(7) };
        assert_eq!(entry.room[0], 7);
    }

    #[test]
    fn the_room_holds_the_growth_of_the_newest_headers_read() {
        // 2.6: hmem_data, page_size, base_mr (8 bytes each) and sub_mr_cnt (8).
        assert!(size_of::<Grown<fi_mr_attr>>() >= size_of::<fi_mr_attr>() + 32);
    }
}
