//! Slots: the parts of a memory area that the messages and transfers in flight use.

/// Alignment of slots in bytes: one cache line, so that adjacent slots never share a line.
pub const SLOT_ALIGNMENT: u64 = 64;
