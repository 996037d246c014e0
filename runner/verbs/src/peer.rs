//! Checks peer addresses, and connects to the peers.

use crate::Verbs;
use crate::error::{invalid_peer, rail_refused};
use crate::ffi::Connection;
use crate::rules::address::{RailAddress, index_for};
use runner::transport::{EndpointAddresses, Peer, TransportError};

pub(super) fn connect(transport: &mut Verbs, peer: &EndpointAddresses) -> Result<Peer, TransportError> {
    if peer.rails.len() != transport.rails.len() {
        return Err(invalid_peer(format!(
            "the peer has {} rails, but this side has {}: use the same number of rails for all workers",
            peer.rails.len(),
            transport.rails.len()
        )));
    }
    let own_addresses = transport.addresses.rails.iter();
    let rails = transport.rails.iter_mut().zip(own_addresses).zip(&peer.rails);
    for (number, ((rail, own), theirs)) in rails.enumerate() {
        let unpack = |packed: &[u8]| RailAddress::unpack(packed);
        let (Some(own), Some(theirs)) = (unpack(own), unpack(theirs)) else {
            return Err(invalid_peer(format!(
                "rail {number}: the peer's address does not belong to this transport; use the same runner \
                 version for all workers"
            )));
        };
        // Outside an InfiniBand subnet, one of the local identifiers is 0.
        let lid = (own.lid != 0 && theirs.lid != 0).then_some(theirs.lid);
        let pair = index_for(own.queue_pairs.len(), theirs.rank);
        let numbers = theirs.queue_pairs.get(theirs.index_for(transport.rank)).copied();
        let (true, Some(numbers)) = (pair < own.queue_pairs.len(), numbers) else {
            return Err(invalid_peer(format!(
                "rail {number}: rank {} and this worker, rank {}, have no queue pairs for each other; use the same assignment \
                 for all workers",
                theirs.rank, transport.rank
            )));
        };
        let connection = Connection {
            number: 0,
            first_packets: (own.first_packet, theirs.first_packet),
            mtu: own.mtu.min(theirs.mtu),
            peer_reads: theirs.reads,
            gid_index: transport.gid_indexes[number],
            gid: theirs.gid,
            lid,
        };
        rail.connect(pair, numbers, connection).map_err(|error| {
            let mut failure = rail_refused(number, &error);
            failure.message += &format!(
                "; the peer's address is {}, which this device's network must be able to reach",
                std::net::Ipv6Addr::from(theirs.gid).to_canonical()
            );
            failure
        })?;
    }
    transport.peers += 1;
    Ok(transport.peers - 1)
}
