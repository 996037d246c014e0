//! Number of rails.

/// Number of rails if a transport does not set it.
pub(super) fn default_rails() -> u32 {
    1
}
