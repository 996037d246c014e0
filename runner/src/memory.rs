//! Memory that bytes leave from and arrive in: never one kind for another.
//!
//! A [`Memory`] is a fixed range of bytes that a fabric library may write to at any time, so it is never lent out as
//! a slice: bytes are copied in and out, and only outside measured windows.

/// A range of memory of one kind.
#[derive(Debug)]
pub struct Memory {
    length: usize,
}

impl Memory {
    /// Bytes of it.
    pub fn length(&self) -> usize {
        self.length
    }
}
