//! Values that records omit.

/// Whether a number is 0, so that records omit it.
pub(super) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}
