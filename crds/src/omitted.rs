//! Values that records and the status omit.

/// Whether a number is 0, so that it is omitted.
pub(crate) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}
