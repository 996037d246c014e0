//! What each provider needs and forbids, as pure functions: no device, no library, no environment is touched, so
//! every rule is tested on any machine. Sources: libfabric's man pages (fi_getinfo.3, fi_endpoint.3, fi_mr.3,
//! fi_efa.7) and the providers' own code, releases 1.17 to 2.6.

pub(super) mod address;
pub(super) mod environment;
pub(super) mod errors;
pub(super) mod hints;
pub(super) mod offer;
pub(super) mod provider;
pub(super) mod rails;
