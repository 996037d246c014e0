//! Connects peers, checks their addresses and keys before the library reads them, and checks the endpoint lanes.

use super::ffi::Rail;
use super::rules::emulation::EndpointEmulation;
use super::rules::lanes::{self, Lane};
use super::rules::{devices, error_handling, packing};
use super::shared::Shared;
use crate::transport::failures::{provider_mismatch, refused};
use crate::transport::rail_set::RailDriver;
use crate::transport::{PackedKey, Peer, RemoteKey, TransportError};
use crds::record::{FabricFacts, FailureReason, OffloadFacts, RailFacts};
use crds::v1alpha1::{Answer, TransferOperation, UcxEmulation};

/// Connects a rail to a peer's rail, and adds the lanes and the emulation to the facts.
pub(super) fn connect(
    rail: &mut Rail,
    shared: &mut Shared,
    index: crate::transport::Rail,
    name: &[u8],
    facts: &mut FabricFacts,
) -> Result<Peer, TransportError> {
    let unsupported =
        error_handling::unsupported_reason(&shared.spec, |name| std::env::var_os(name).is_some());
    let address =
        packing::unpack_address(shared.version, name).map_err(|message| refused(Rail::CONNECT, message))?;
    let (peer, found) = rail.create_endpoint(address).map_err(|error| {
        let mut failure = TransportError::from(error);
        if let Some(message) = unsupported {
            failure.reason = FailureReason::OperationRejected;
            failure.message += &format!("; {message}");
        }
        failure.message += "; the peer cannot be reached over the transports in the spec. For shared memory, both \
                            workers must be on the same host and share /dev/shm and the PID namespace";
        failure
    })?;
    let device = shared.devices.get(index).and_then(Option::as_deref);
    lanes::check(&shared.spec, device, &found)
        .map_err(|message| provider_mismatch("ucp_ep_query", message))?;
    if let Some(facts) = facts.rails.get_mut(index) {
        record_lanes(facts, &found);
    }
    let emulation = EndpointEmulation::new(shared.emulation_conditions, std::slice::from_ref(&found));
    record_emulation(&mut facts.offload, emulation);
    shared
        .peers
        .resize_with(shared.peers.len().max(peer + 1), Vec::new);
    shared.peers[peer].push(found);
    Ok(peer)
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
    shared: &Shared,
    peer: Peer,
    operation: TransferOperation,
) -> Result<(), TransportError> {
    let Some(lanes) = shared.peers.get(peer) else {
        return Err(refused("emulation", format!("peer {peer} is not connected")));
    };
    let emulation = EndpointEmulation::new(shared.emulation_conditions, lanes);
    let emulated = match operation {
        TransferOperation::Send => return Ok(()),
        TransferOperation::Read => emulation.reads,
        TransferOperation::Write | TransferOperation::WriteImmediate => emulation.writes,
    };
    if emulated != Answer::True || shared.spec.emulation == UcxEmulation::Allow {
        return Ok(());
    }
    let lanes: Vec<_> = lanes.iter().flatten().map(Lane::to_string).collect();
    let message = format!(
        "UCX {} emulates {operation:?} over {} with messages that the target's CPU must process. To measure the \
         emulation, set spec.transport.ucx.emulation: Allow; otherwise, use an operation or a transport for which UCX needs \
         no emulation",
        shared.version,
        lanes.join(", ")
    );
    Err(refused("emulation", message))
}

/// Imports the key of a peer's region of `length` bytes.
pub(super) fn import(
    rail: &mut Rail,
    shared: &Shared,
    peer: Peer,
    packed: &PackedKey,
    length: u64,
) -> Result<RemoteKey, TransportError> {
    let refused = |message| refused("ucp_ep_rkey_unpack", message);
    let key = packing::unpack_key(shared.version, &packed.key).map_err(refused)?;
    if (key.address(), key.length()) != (packed.address, length) {
        return Err(refused(format!(
            "the peer describes a region of {length} bytes at {:#x}, but its key belongs to {} bytes at {:#x}",
            packed.address,
            key.length(),
            key.address()
        )));
    }
    Ok(RemoteKey {
        address: key.address(),
        key: rail.import_key(peer, key)?,
    })
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
