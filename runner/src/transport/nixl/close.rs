//! Reports the transfer steps of all rails.

use super::Nixl;
use crds::record::ProtocolUse;

/// Returns an entry for each kind of transfer if the steps were measured; otherwise, returns an empty list.
pub(super) fn protocols(transport: &Nixl) -> Vec<ProtocolUse> {
    let mut protocols = Vec::new();
    for (steps, served_by) in transport.rails.iter().filter_map(super::ffi::Rail::steps) {
        for protocol in steps.protocols(transport.spec.requests, served_by) {
            protocol.add_to(&mut protocols);
        }
    }
    protocols
}
