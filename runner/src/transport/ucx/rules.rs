//! Requirements and restrictions of UCX. Performs no I/O and accesses no device, library or environment, so every rule
//! can be tested on any machine. Sources: `ucp.h`, and the source code of UCX 1.13 to 1.22.

pub(super) mod configuration;
pub(super) mod devices;
pub(super) mod emulation;
pub(super) mod environment;
pub(super) mod error_handling;
pub(super) mod errors;
pub(super) mod lanes;
pub(super) mod packing;
pub(super) mod protocols;
pub(super) mod settings;
