//! Environment variables that the libraries need. Performs no I/O.

use crds::v1alpha1::TransportSpec;

use super::{libfabric, ucx};

/// Environment variables, with their values, to set for an instrument process that uses `spec` with `peers` peers.
/// Variables that the user has already set are left unchanged.
pub fn required_environment(spec: &TransportSpec, peers: usize) -> Vec<(&'static str, String)> {
    match spec {
        TransportSpec::Libfabric(spec) => libfabric::required_environment(spec.provider, peers),
        // NIXL's UCX backend loads its own copy of UCX.
        TransportSpec::Ucx(_) | TransportSpec::Nixl(_) => ucx::required_environment(),
        TransportSpec::Loopback(_) | TransportSpec::Verbs(_) => Vec::new(),
    }
}
