//! Reports the transfer steps of all rails.

use super::ffi::Rail;
use crds::record::ProtocolUse;
use crds::v1alpha1::Nixl;

/// Returns an entry for each kind of transfer if the steps were measured; otherwise, returns an empty list.
pub(super) fn protocols(rails: &[Rail], spec: &Nixl) -> Vec<ProtocolUse> {
    let mut protocols = Vec::new();
    for (steps, served_by) in rails.iter().filter_map(Rail::steps) {
        for protocol in steps.protocols(spec.requests, served_by) {
            protocol.add_to(&mut protocols);
        }
    }
    protocols
}
