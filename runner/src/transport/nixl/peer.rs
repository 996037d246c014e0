//! Connects peers and imports their regions. Checks the data from peers before the library reads it.

use super::Nixl;
use super::error::{rail_refused, refused};
use super::rules::packing;
use crate::transport::{
    EndpointAddresses, MAX_ADDRESS_BYTES, MAX_KEY_BYTES, Peer, RemoteKey, RemoteRegion, TransportError,
};

pub(super) fn connect(transport: &mut Nixl, peer: &EndpointAddresses) -> Result<Peer, TransportError> {
    if peer.rails.len() != transport.rails.len() {
        let message = format!(
            "the peer has {} rails, but this side has {}: use the same number of rails for all workers",
            peer.rails.len(),
            transport.rails.len()
        );
        return Err(refused("load_remote_md", message));
    }
    let backend = transport.spec.backend;
    let mut number = 0;
    for (index, (rail, packed)) in transport.rails.iter_mut().zip(&peer.rails).enumerate() {
        let metadata = packing::unpack(backend, packed, MAX_ADDRESS_BYTES, "agent metadata")
            .map_err(|message| refused("load_remote_md", message))?;
        number = rail.connect(metadata).map_err(|error| {
            let mut failure = rail_refused(index, &error);
            failure.message += "; the peer cannot be reached over the backend's devices, or uses a different \
                                NIXL release";
            failure
        })?;
    }
    Ok(number)
}

pub(super) fn import(
    transport: &mut Nixl,
    peer: Peer,
    region: &RemoteRegion,
) -> Result<Vec<RemoteKey>, TransportError> {
    if region.rails.len() != transport.rails.len() {
        let message = format!(
            "the peer's region has keys for {} rails, but this side has {}",
            region.rails.len(),
            transport.rails.len()
        );
        return Err(refused("load_remote_md", message));
    }
    let backend = transport.spec.backend;
    let mut keys = Vec::with_capacity(region.rails.len());
    for (index, (rail, packed)) in transport.rails.iter_mut().zip(&region.rails).enumerate() {
        let (location, metadata) = packing::unpack_region(backend, &packed.key, MAX_KEY_BYTES)
            .map_err(|message| refused("load_remote_md", message))?;
        let key = rail
            .import(peer, location, metadata, packed.address, region.length)
            .map_err(|error| rail_refused(index, &error))?;
        keys.push(RemoteKey {
            address: packed.address,
            key,
        });
    }
    Ok(keys)
}
