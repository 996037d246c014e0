//! Requirements and restrictions of each provider. Performs no I/O and accesses no device, library or environment, so
//! every rule can be tested on any machine. Sources: libfabric's man pages (fi_getinfo.3, fi_endpoint.3, fi_mr.3,
//! fi_efa.7) and the provider source code, releases 1.17 to 2.6.

pub(super) mod absence;
pub(super) mod address;
pub(super) mod attributes;
pub(super) mod environment;
pub(super) mod errors;
pub(super) mod hints;
pub(super) mod offload;
pub(super) mod provider;
pub(super) mod rails;
