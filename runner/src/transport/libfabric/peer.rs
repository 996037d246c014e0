//! Connects peers, and checks their addresses before the library reads them. For shm peers, also checks that `/dev/shm`
//! contains their shared-memory files.

use super::Libfabric;
use super::error::{rail_refused, refused};
use super::rules::address;
use crate::transport::{EndpointAddresses, Peer, TransportError};
use crds::record::FailureReason;
use crds::v1alpha1::LibfabricProvider;
use std::path::Path;

/// Directory that contains the shared-memory files of shm endpoints.
const SHARED_MEMORY: &str = "/dev/shm";

pub(super) fn connect(transport: &mut Libfabric, peer: &EndpointAddresses) -> Result<Peer, TransportError> {
    if peer.rails.len() != transport.rails.len() {
        let message = format!(
            "the peer has {} rails, but this side has {}: use the same number of rails for all workers",
            peer.rails.len(),
            transport.rails.len()
        );
        return Err(refused("fi_av_insert", message));
    }
    let mut number = 0;
    for (index, (rail, name)) in transport.rails.iter_mut().zip(&peer.rails).enumerate() {
        let padded = address::pad(name, rail.name()).map_err(|m| refused("fi_av_insert", m))?;
        if transport.provider == LibfabricProvider::Shm {
            check_shared_memory(name)?;
        }
        number = rail.connect(&padded).map_err(|e| rail_refused(index, &e))?;
    }
    Ok(number)
}

/// Checks that this worker can open a peer's shared memory.
///
/// Without this check, the shm provider would indefinitely return EAGAIN for every post to an unreachable peer.
fn check_shared_memory(name: &[u8]) -> Result<(), TransportError> {
    let file = address::shared_memory_file(name).filter(|file| Path::new(SHARED_MEMORY).join(file).exists());
    if file.is_some() {
        return Ok(());
    }
    let message = format!(
        "the peer's endpoint {} is not in this worker's {SHARED_MEMORY}: both workers must be on the same host and \
         share this directory (by default, each pod has a separate one)",
        address::display(name)
    );
    Err(TransportError {
        reason: FailureReason::FabricUnreachable,
        operation: "fi_av_insert",
        message,
    })
}
