//! Connects peers, checks their addresses and keys before the library reads them, and checks the lanes of the endpoints.

use super::Ucx;
use super::error::{provider_mismatch, rail_refused, refused};
use super::rules::emulation::{Rma, emulation};
use super::rules::lanes::{self, Lane};
use super::rules::{devices, error_handling, packing};
use crate::transport::{
    EndpointAddresses, MAX_ADDRESS_BYTES, MAX_KEY_BYTES, Peer, RemoteKey, RemoteRegion, TransportError,
};
use crds::record::FailureReason;
use crds::v1alpha1::{Answer, TransferOperation, UcxEmulation};

pub(super) fn connect(transport: &mut Ucx, peer: &EndpointAddresses) -> Result<Peer, TransportError> {
    if peer.rails.len() != transport.rails.len() {
        let message = format!(
            "the peer has {} rails, but this side has {}: open both sides with the same number of rails",
            peer.rails.len(),
            transport.rails.len()
        );
        return Err(refused("ucp_ep_create", message));
    }
    let unsupported = error_handling::unsupported(&transport.spec, |name| std::env::var_os(name).is_some());
    let mut number = 0;
    let mut connected = Vec::with_capacity(peer.rails.len());
    for (index, (rail, name)) in transport.rails.iter_mut().zip(&peer.rails).enumerate() {
        let address = packing::unpack(transport.version, name, MAX_ADDRESS_BYTES, "worker address")
            .map_err(|message| refused("ucp_ep_create", message))?;
        let (peer, found) = rail.connect(address).map_err(|error| {
            let mut failure = rail_refused(index, &error);
            if let Some(message) = unsupported {
                failure.reason = FailureReason::OperationRejected;
                failure.message += &format!("; {message}");
            }
            failure.message += "; the peer cannot be reached over the transports of the spec. With shared memory, both \
                                workers must be on the same host and share /dev/shm and the PID namespace";
            failure
        })?;
        let device = transport.devices[index].as_deref();
        lanes::check(&transport.spec, device, &found)
            .map_err(|message| provider_mismatch("ucp_ep_query", format!("rail {index}: {message}")))?;
        number = peer;
        connected.push(found);
    }
    for (index, lanes) in connected.iter().enumerate() {
        record_lanes(transport, index, lanes);
    }
    record_emulation(transport);
    Ok(number)
}

/// Adds the lanes of an endpoint to the facts of its rail. A rail whose lanes use one device is on that device.
fn record_lanes(transport: &mut Ucx, rail: usize, found: &[Lane]) {
    let facts = &mut transport.facts.rails[rail];
    for lane in found.iter().map(Lane::to_string) {
        if !facts.lanes.contains(&lane) {
            facts.lanes.push(lane);
        }
    }
    if let [first, others @ ..] = found
        && others.iter().all(|lane| lane.device == first.device)
    {
        facts.domain = first.device.clone();
        if transport.spec.uses_network() {
            facts.interface = Some(devices::kernel_name(&first.device).to_owned());
        }
    }
}

/// Sets whether RMA operations are emulated on any rail.
fn record_emulation(transport: &mut Ucx) {
    let answer = |operation| {
        let of_rail = |rail| {
            let lanes = lanes_of(transport, rail);
            emulation(transport.emulation_conditions, &lanes, operation)
        };
        (0..transport.rails.len()).map(of_rail).reduce(Answer::or)
    };
    let (reads, writes) = (answer(Rma::Read), answer(Rma::Write));
    transport.facts.offload.emulated_reads = reads;
    transport.facts.offload.emulated_writes = writes;
}

fn lanes_of(transport: &Ucx, rail: usize) -> Vec<Lane> {
    let lanes = transport
        .facts
        .rails
        .get(rail)
        .map(|facts| facts.lanes.as_slice());
    let split = |lane: &String| {
        let (transport, device) = lane.split_once('/')?;
        Some(Lane {
            transport: transport.to_owned(),
            device: device.to_owned(),
        })
    };
    lanes.unwrap_or_default().iter().filter_map(split).collect()
}

/// Rejects an RMA operation that UCX emulates, unless the spec allows it.
pub(super) fn check_operation(transport: &Ucx, operation: TransferOperation) -> Result<(), TransportError> {
    let emulated = match operation {
        TransferOperation::Send => return Ok(()),
        TransferOperation::Read => transport.facts.offload.emulated_reads,
        TransferOperation::Write | TransferOperation::WriteImmediate => {
            transport.facts.offload.emulated_writes
        }
    };
    if emulated != Some(Answer::True) || transport.spec.emulation == UcxEmulation::Allow {
        return Ok(());
    }
    let lanes: Vec<_> = transport
        .facts
        .rails
        .iter()
        .flat_map(|rail| &rail.lanes)
        .cloned()
        .collect();
    let message = format!(
        "UCX {} emulates {operation:?} over {} with messages that the CPU of the target executes. To measure the \
         emulation, set spec.transport.ucx.emulation: Allow; otherwise, use an operation or a transport that UCX does not \
         emulate",
        transport.version,
        lanes.join(", ")
    );
    Err(refused("emulation", message))
}

pub(super) fn import(
    transport: &mut Ucx,
    peer: Peer,
    region: &RemoteRegion,
) -> Result<Vec<RemoteKey>, TransportError> {
    if region.rails.len() != transport.rails.len() {
        let message = format!(
            "the peer's region has keys for {} rails, but this side has {}",
            region.rails.len(),
            transport.rails.len()
        );
        return Err(refused("ucp_ep_rkey_unpack", message));
    }
    let mut keys = Vec::with_capacity(region.rails.len());
    for (index, (rail, packed)) in transport.rails.iter_mut().zip(&region.rails).enumerate() {
        let key = packing::unpack(transport.version, &packed.key, MAX_KEY_BYTES, "memory key")
            .map_err(|message| refused("ucp_ep_rkey_unpack", message))?;
        let key = rail
            .import(peer, key, packed.address, region.length)
            .map_err(|error| rail_refused(index, &error))?;
        keys.push(RemoteKey {
            address: packed.address,
            key,
        });
    }
    Ok(keys)
}
