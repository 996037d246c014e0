//! Connects peers, checks their addresses and keys before the library reads them, and checks the endpoint lanes.

use super::Ucx;
use super::error::{provider_mismatch, rail_refused, refused};
use super::rules::emulation::EndpointEmulation;
use super::rules::lanes::{self, Lane};
use super::rules::{devices, error_handling, packing};
use crate::transport::{EndpointAddresses, Peer, RemoteKey, RemoteRegion, TransportError};
use crds::record::{FailureReason, OffloadFacts, RailFacts};
use crds::v1alpha1::{Answer, TransferOperation, UcxEmulation};

/// Connected peer.
pub(super) struct ConnectedPeer {
    /// Lanes of each rail's endpoint.
    lanes: Vec<Vec<Lane>>,
    /// RMA operations that UCX emulates on any endpoint to the peer.
    emulation: EndpointEmulation,
}

pub(super) fn connect(transport: &mut Ucx, peer: &EndpointAddresses) -> Result<Peer, TransportError> {
    if peer.rails.len() != transport.rails.len() {
        let message = format!(
            "the peer has {} rails, but this side has {}: use the same number of rails for all workers",
            peer.rails.len(),
            transport.rails.len()
        );
        return Err(refused("ucp_ep_create", message));
    }
    let unsupported =
        error_handling::unsupported_reason(&transport.spec, |name| std::env::var_os(name).is_some());
    let number = transport.peers.len();
    let mut connected = Vec::with_capacity(peer.rails.len());
    for (index, (rail, name)) in transport.rails.iter_mut().zip(&peer.rails).enumerate() {
        let address = packing::unpack_address(transport.version, name)
            .map_err(|message| refused("ucp_ep_create", message))?;
        let (peer, found) = rail.connect(address).map_err(|error| {
            let mut failure = rail_refused(index, &error);
            if let Some(message) = unsupported {
                failure.reason = FailureReason::OperationRejected;
                failure.message += &format!("; {message}");
            }
            failure.message += "; the peer cannot be reached over the transports in the spec. For shared memory, both \
                                workers must be on the same host and share /dev/shm and the PID namespace";
            failure
        })?;
        let device = transport.devices[index].as_deref();
        lanes::check(&transport.spec, device, &found)
            .map_err(|message| provider_mismatch("ucp_ep_query", format!("rail {index}: {message}")))?;
        if peer != number {
            let message = format!(
                "rail {index}: an earlier connection attempt failed, so the endpoints must be opened again"
            );
            return Err(refused("ucp_ep_create", message));
        }
        connected.push(found);
    }
    for (index, lanes) in connected.iter().enumerate() {
        record_lanes(&mut transport.facts.rails[index], lanes);
    }
    let emulation = EndpointEmulation::new(transport.emulation_conditions, &connected);
    record_emulation(&mut transport.facts.offload, emulation);
    transport.peers.push(ConnectedPeer {
        lanes: connected,
        emulation,
    });
    Ok(number)
}

/// Adds an endpoint's lanes to the facts about its rail.
fn record_lanes(facts: &mut RailFacts, found: &[Lane]) {
    let is_first = facts.lanes.is_empty();
    for lane in found.iter().map(Lane::to_string) {
        if !facts.lanes.contains(&lane) {
            facts.lanes.push(lane);
        }
    }
    if found.is_empty() {
        return;
    }
    if let Some(device) = only_device(found.iter()) {
        device.clone_into(&mut facts.domain);
    }
    let mut networks = found
        .iter()
        .filter(|lane| lanes::uses_network(&lane.transport))
        .peekable();
    if networks.peek().is_some() {
        if let Some(device) = only_device(networks) {
            facts.interface = Some(devices::kernel_name(device).to_owned());
        }
    } else if is_first {
        // The device in the spec is not used if all lanes are shared memory.
        facts.interface = None;
    }
}

/// The device that all `lanes` use; `None` if they use several devices.
fn only_device<'a>(mut lanes: impl Iterator<Item = &'a Lane>) -> Option<&'a str> {
    let first = lanes.next()?.device.as_str();
    lanes.all(|lane| lane.device == first).then_some(first)
}

/// Adds the emulation on one endpoint to the facts, which show whether UCX emulates an operation to any peer.
fn record_emulation(offload: &mut OffloadFacts, emulation: EndpointEmulation) {
    let add = |known: &mut Option<Answer>, answer| {
        *known = Some(known.map_or(answer, |known| known.or(answer)));
    };
    add(&mut offload.emulated_reads, emulation.reads);
    add(&mut offload.emulated_writes, emulation.writes);
}

/// Rejects an RMA operation that UCX emulates on the endpoint to this peer, unless the spec allows it.
pub(super) fn check_operation(
    transport: &Ucx,
    peer: Peer,
    operation: TransferOperation,
) -> Result<(), TransportError> {
    let Some(connected) = transport.peers.get(peer) else {
        return Err(refused("emulation", format!("peer {peer} is not connected")));
    };
    let emulated = match operation {
        TransferOperation::Send => return Ok(()),
        TransferOperation::Read => connected.emulation.reads,
        TransferOperation::Write | TransferOperation::WriteImmediate => connected.emulation.writes,
    };
    if emulated != Answer::True || transport.spec.emulation == UcxEmulation::Allow {
        return Ok(());
    }
    let lanes: Vec<_> = connected.lanes.iter().flatten().map(Lane::to_string).collect();
    let message = format!(
        "UCX {} emulates {operation:?} over {} with messages that the target's CPU must process. To measure the \
         emulation, set spec.transport.ucx.emulation: Allow; otherwise, use an operation or a transport for which UCX needs \
         no emulation",
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
        let key = packing::unpack_key(transport.version, &packed.key)
            .map_err(|message| refused("ucp_ep_rkey_unpack", message))?;
        if (key.address(), key.length()) != (packed.address, region.length) {
            let message = format!(
                "rail {index}: the peer describes a region of {} bytes at {:#x}, but its key belongs to {} bytes at {:#x}",
                region.length,
                packed.address,
                key.length(),
                key.address()
            );
            return Err(refused("ucp_ep_rkey_unpack", message));
        }
        let imported = rail
            .import(peer, key)
            .map_err(|error| rail_refused(index, &error))?;
        keys.push(RemoteKey {
            address: key.address(),
            key: imported,
        });
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts about a rail on `eth0`, after connections with these lanes.
    fn facts(connections: &[&[(&str, &str)]]) -> RailFacts {
        let mut facts = RailFacts {
            domain: "eth0".to_owned(),
            interface: Some("eth0".to_owned()),
            ..RailFacts::default()
        };
        for lanes in connections {
            let lanes = lanes.iter().map(|&(transport, device)| Lane {
                transport: transport.to_owned(),
                device: device.to_owned(),
            });
            record_lanes(&mut facts, &lanes.collect::<Vec<_>>());
        }
        facts
    }

    #[test]
    fn only_lanes_over_a_network_have_an_interface() {
        let interface = |connections: &[&[(&str, &str)]]| facts(connections).interface;
        let memory = &[("posix", "memory"), ("cma", "memory")][..];
        let network = &[("rc_mlx5", "mlx5_0:1")][..];
        assert_eq!(interface(&[]).as_deref(), Some("eth0"));
        assert_eq!(interface(&[&[]]).as_deref(), Some("eth0"));
        assert_eq!(interface(&[memory]), None);
        assert_eq!(interface(&[network]).as_deref(), Some("mlx5_0"));
        assert_eq!(
            interface(&[&[memory, network].concat()]).as_deref(),
            Some("mlx5_0")
        );
        assert_eq!(interface(&[memory, network]).as_deref(), Some("mlx5_0"));
        assert_eq!(interface(&[network, memory]).as_deref(), Some("mlx5_0"));
        assert_eq!(facts(&[memory]).domain, "memory");
    }
}
