//! Requirements and restrictions of NIXL. Performs no I/O and accesses no device, library or environment, so every rule
//! can be tested on any machine. Sources: the C interface of NIXL 1.5, and the source code of NIXL 1.4.

pub(super) mod notification;
pub(super) mod packing;
pub(super) mod parameters;
pub(super) mod steps;
