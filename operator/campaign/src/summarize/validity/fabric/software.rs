//! Proof for software RDMA devices, which count packets but no bytes. Performs no I/O.
//!
//! The network interface below the device counts the bytes of all its traffic, and the device counts only its own
//! packets. The device has therefore transferred at most as many bytes as fit into its packets, and at most as many as
//! the interface counted.

use crds::record::{InterfaceDelta, Measurement};
use crds::v1alpha1::FabricProof;

use crate::summarize::validity::case_check::CaseProof;

/// Upper bounds on the bytes that an interface sent and received for its rails.
pub(super) fn counted_bytes(delta: &InterfaceDelta) -> (u64, u64) {
    let Some(device) = &delta.software else {
        return (delta.tx_bytes, delta.rx_bytes);
    };
    let in_packets = |packets: u64| packets.saturating_mul(device.packet_bytes);
    (
        delta.tx_bytes.min(in_packets(device.tx_packets)),
        delta.rx_bytes.min(in_packets(device.rx_packets)),
    )
}

/// Name of an interface, with the source of its counts if the interface has no byte counters.
pub(super) fn counters(delta: &InterfaceDelta) -> String {
    match &delta.software {
        None => delta.name.clone(),
        Some(device) => format!("{} and the packets of {}", device.interface, delta.name),
    }
}

/// Proof of a case between two workers that use the same software device. The kernel passes their packets from the
/// device to itself, so the interface below it carries none of them, and its counters neither prove nor contradict the
/// fabric.
pub(super) fn loopback_proof(measured: &Measurement, hosts: &[String; 2]) -> Option<CaseProof> {
    let [initiator, target] = hosts;
    let (initiated, received) = (&measured.initiator.interfaces, &measured.target.interfaces);
    let is_shared = |delta: &&InterfaceDelta| {
        delta.software.is_some() && received.iter().any(|other| other.name == delta.name)
    };
    let shared = initiated.iter().find(is_shared).filter(|_| initiator == target)?;
    Some(CaseProof {
        proof: FabricProof::Declared,
        reason: format!(
            "both workers use {}, which passes packets to itself without its network interface: use a device for each worker",
            shared.name
        ),
    })
}

#[cfg(test)]
mod tests {

    use crds::record::{SideReport, SoftwareDevice};

    use super::*;

    fn delta(packets: u64) -> InterfaceDelta {
        InterfaceDelta {
            name: "rxe0".to_owned(),
            rails: vec![0],
            tx_bytes: 1_000_000,
            rx_bytes: 500,
            tx_packets: None,
            rx_packets: None,
            software: Some(SoftwareDevice {
                interface: "veth0".to_owned(),
                packet_bytes: 9000,
                tx_packets: packets,
                rx_packets: packets,
            }),
            retransmits: None,
            interval_nanos: 1,
            line_bits_per_second: None,
        }
    }

    #[test]
    fn other_traffic_of_the_interface_does_not_count() {
        assert_eq!(counted_bytes(&delta(10)), (90_000, 500));
        assert_eq!(counted_bytes(&delta(0)), (0, 0));
        assert_eq!(counted_bytes(&delta(u64::MAX)), (1_000_000, 500));
        let hardware = InterfaceDelta {
            software: None,
            ..delta(0)
        };
        assert_eq!(counted_bytes(&hardware), (1_000_000, 500));
        assert_eq!(counters(&delta(1)), "veth0 and the packets of rxe0");
    }

    #[test]
    fn a_device_that_is_its_own_peer_proves_nothing() {
        let side = |name: &str| SideReport {
            interfaces: vec![InterfaceDelta {
                name: name.to_owned(),
                ..delta(1)
            }],
            ..SideReport::default()
        };
        let proof = |target: &str, host: &str| {
            let measured = Measurement {
                initiator: side("rxe0"),
                target: side(target),
            };
            loopback_proof(&measured, &["a".to_owned(), host.to_owned()]).map(|proof| proof.proof)
        };
        assert_eq!(proof("rxe0", "a"), Some(FabricProof::Declared));
        assert_eq!(proof("rxe1", "a"), None);
        assert_eq!(proof("rxe0", "b"), None);
    }
}
