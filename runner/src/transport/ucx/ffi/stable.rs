//! Values whose addresses the library holds.

use std::ops::Deref;
use std::ptr::NonNull;

/// Owned value on the heap whose address may be passed to the library.
///
/// Moving a `Box` asserts that no other pointer to its content exists, which would invalidate the library's pointer
/// under Rust's aliasing rules (Stacked Borrows). Moving this type asserts nothing: pointers to the content stay valid
/// until the value is dropped, as long as they are used only for what a shared reference permits.
pub(super) struct StableBox<T: ?Sized>(NonNull<T>);

impl<T: ?Sized> StableBox<T> {
    /// Pointer to the content, which is valid until this value is dropped.
    pub(super) fn as_ptr(&self) -> NonNull<T> {
        self.0
    }
}

impl<T: ?Sized> From<Box<T>> for StableBox<T> {
    fn from(content: Box<T>) -> Self {
        Self(NonNull::from(Box::leak(content)))
    }
}

impl<T: ?Sized> Deref for StableBox<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the content exists until `drop`, and no exclusive reference to it exists until then.
        unsafe { self.0.as_ref() }
    }
}

impl<T: ?Sized> Drop for StableBox<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box that was leaked, and only this function releases it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Fails under Miri if the content is in a `Box`, because moving it invalidates the pointer.
    #[test]
    fn pointers_stay_valid_when_the_owner_is_moved() {
        let values: Box<[Cell<u32>]> = [1, 2].map(Cell::new).into();
        let stable = StableBox::from(values);
        let pointer = std::ptr::from_ref(&stable[1]);
        let mut owners = vec![stable];
        owners.shrink_to_fit();
        // The second push moves the first owner.
        owners.push(StableBox::from(Box::from([Cell::new(3_u32)]) as Box<[Cell<u32>]>));
        // SAFETY: the content exists, and there are only shared references to it.
        unsafe { (*pointer).set(7) };
        assert_eq!(owners[0][1].get(), 7);
        let whole = owners[0].as_ptr();
        drop(owners.pop());
        // SAFETY: as above.
        assert_eq!(unsafe { whole.as_ref() }[1].get(), 7);
    }
}
