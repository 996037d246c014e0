//! Environment variables that the libraries need. Performs no I/O.

use crds::v1alpha1::TransportSpec;

use super::{libfabric, ucx};

/// Environment variables to set for an instrument process that uses `spec` with `peers` peers, with their values.
/// Variables that the user has already set are left unchanged.
pub fn required_environment(spec: &TransportSpec, peers: usize) -> Vec<(&'static str, String)> {
    match spec {
        TransportSpec::Libfabric(spec) => libfabric::required_environment(spec.provider, peers),
        // The UCX backend of NIXL loads its own copy of UCX.
        TransportSpec::Ucx(_) | TransportSpec::Nixl(_) => ucx::required_environment(),
        TransportSpec::Loopback(_) | TransportSpec::Verbs(_) => Vec::new(),
    }
}
