//! Rules for this transport: the segment layout and the encoding of segment addresses. Performs no I/O.

pub(super) mod address;
pub(super) mod layout;
