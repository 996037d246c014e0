//! Pure rules of this transport: the layout of a segment and the addresses of segments.

pub(super) mod address;
pub(super) mod layout;
