//! Rules of this transport: the layout of a segment and the encoding of segment addresses. Performs no I/O.

pub(super) mod address;
pub(super) mod layout;
