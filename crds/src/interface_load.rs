//! Upper bound on the bytes that an interface counts for a known payload.
//!
//! An interface counts more than the payload: headers of packets, acknowledgements, headers and control messages of the
//! library, repeated packets, and the messages with which the runner controls a case. Bytes beyond this bound belong to
//! other traffic. For large messages the bound is close to the payload. For the smallest messages, packets and headers
//! dominate, so the bound is computed from the number of messages and from the packets that the interface counted.

use std::time::Duration;

use crate::record::MAX_LINE_BYTES;

/// Interval between two heartbeats that the coordinator and a worker send to each other.
pub const HEARTBEAT: Duration = Duration::from_secs(2);

/// Fraction of the payload that byte counters must cover. Headers can only increase the counters. The tolerance of 1%
/// allows for counters that are read while the last frame is still in flight.
pub const COVERAGE: f64 = 0.99;

/// Largest headers and trailers of a packet, in bytes, that an interface counts. TCP over IPv6 has at most 118: Ethernet 14,
/// VLAN tag 4 (IEEE 802.1Q), IPv6 40 (RFC 8200), TCP 60 with all options (RFC 9293). RoCE v2 has at most 106: Ethernet,
/// VLAN tag and IPv6, UDP 8, and of InfiniBand BTH 12, RETH 16, immediate data 4, ICRC 4 and FCS 4 (InfiniBand Architecture
/// Specification 1, chapter 9, and annex A17).
const HEADER_BYTES: u64 = 128;
/// Payload of the shortest full packet, in bytes: RDMA over Ethernet with an MTU of 1500 uses a path MTU of 1024. TCP
/// with this MTU sends 1448 bytes.
const PACKET_PAYLOAD_BYTES: u64 = 1024;
/// Packets for a message beyond its full packets, in each direction of the interface: a request to send, its answer, the
/// data and the completion of a rendezvous, or their acknowledgements (`ucp_tag_send` of UCX, the `ofi_rxm` provider of
/// libfabric).
const PACKETS_PER_MESSAGE: u64 = 4;
/// Headers that the library adds to a message and its control messages, in bytes, in each direction. The `tcp` provider of
/// libfabric adds 16 to 56 (`xnet_proto.h`), UCX 8 to 100 (`ucp/rndv/rndv.h` with one remote key).
const LIBRARY_BYTES: u64 = 128;
/// Fraction of the payload by which repeated packets may increase the counts.
const REPEATED: f64 = 0.02;
/// Messages of the coordinator and a worker about a side of a case, in bytes in each direction: two records of the largest
/// length.
const CONTROL_BYTES: u64 = 2 * MAX_LINE_BYTES as u64;
/// Heartbeats of the coordinator and a worker within [`HEARTBEAT`], with headers and acknowledgements, in bytes in each
/// direction. On the loopback interface, both directions count in each direction.
const HEARTBEAT_BYTES: u64 = 2048;

/// Traffic of cases over one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InterfaceLoad {
    /// Payload bytes that the interface sends.
    pub sent: u64,
    /// Payload bytes that the interface receives.
    pub received: u64,
    /// Messages in both directions.
    pub messages: u64,
    /// Sides of cases whose worker exchanges control messages with the coordinator over the interface. Both sides of a case
    /// use the loopback interface.
    pub sides: u64,
    /// Time between the readings, in nanoseconds.
    pub interval_nanos: u64,
}

impl InterfaceLoad {
    /// Sum of two loads that overlap in time.
    pub fn plus(self, other: Self) -> Self {
        Self {
            sent: self.sent.saturating_add(other.sent),
            received: self.received.saturating_add(other.received),
            messages: self.messages.saturating_add(other.messages),
            sides: self.sides.saturating_add(other.sides),
            interval_nanos: self.interval_nanos.max(other.interval_nanos),
        }
    }

    /// The payload and the messages of this load.
    pub fn without_sides(self) -> Self {
        Self { sides: 0, ..self }
    }

    /// Largest number of bytes that the interface sends for this load in `packets` packets; `None` if it does not count
    /// its packets.
    pub fn most_sent(&self, packets: Option<u64>) -> u64 {
        self.most(self.sent, packets)
    }

    /// Largest number of bytes that the interface receives for this load in `packets` packets; `None` if it does not count
    /// its packets.
    pub fn most_received(&self, packets: Option<u64>) -> u64 {
        self.most(self.received, packets)
    }

    /// Largest number of bytes in a direction with `payload`. An acknowledgement in this direction belongs to a packet in
    /// the other.
    fn most(&self, payload: u64, packets: Option<u64>) -> u64 {
        let full = self.sent.saturating_add(self.received) / PACKET_PAYLOAD_BYTES;
        let largest = full.saturating_add(self.messages.saturating_mul(PACKETS_PER_MESSAGE));
        // Packets beyond this number are other traffic, whose headers explain nothing.
        let packets = packets.map_or(largest, |packets| packets.min(largest));
        let heartbeats = 1 + self.interval_nanos / HEARTBEAT.as_nanos() as u64;
        let control = CONTROL_BYTES.saturating_add(heartbeats.saturating_mul(HEARTBEAT_BYTES));
        [
            (payload as f64 * REPEATED) as u64,
            packets.saturating_mul(HEADER_BYTES),
            self.messages.saturating_mul(LIBRARY_BYTES),
            self.sides.saturating_mul(control),
        ]
        .into_iter()
        .fold(payload, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes and packets of `messages` messages of `size` bytes in one direction of an interface, with headers and an
    /// acknowledgement for every packet, if `both` also in the other direction of the same interface.
    fn wire(messages: u64, size: u64, packet: u64, header: u64, library: u64, both: bool) -> (u64, u64) {
        let packets = messages * (size + library).div_ceil(packet).max(1);
        let acknowledgements = if both { packets } else { 0 };
        let bytes = messages * (size + library) + (packets + acknowledgements) * header;
        (bytes, packets + acknowledgements)
    }

    proptest! {
        #[test]
        fn real_headers_are_never_foreign(
            messages in 0_u64..100_000,
            size in 0_u64..(16 << 20),
            packet in 1024_u64..65_536,
            header in 30_u64..=118,
            library in 0_u64..=100,
            both: bool,
            counts_packets: bool,
        ) {
            let payload = messages * size;
            let received = if both { payload } else { 0 };
            let load = InterfaceLoad { sent: payload, received, messages, sides: 1, ..InterfaceLoad::default() };
            let (bytes, packets) = wire(messages, size, packet, header, library, both);
            let packets = counts_packets.then_some(packets);
            prop_assert!(bytes <= load.most_sent(packets), "{bytes} > {}", load.most_sent(packets));
        }

        #[test]
        fn a_tenth_of_a_large_payload_is_foreign(
            messages in 1_u64..1_000,
            size in (1_u64 << 20)..(16 << 20),
            packet in 8_192_u64..65_536,
        ) {
            let load = InterfaceLoad { sent: messages * size, messages, sides: 1, ..InterfaceLoad::default() };
            let (bytes, packets) = wire(messages, size, packet, 66, 32, false);
            let foreign = messages * size / 10 + CONTROL_BYTES + HEARTBEAT_BYTES + messages * (LIBRARY_BYTES + 4 * HEADER_BYTES);
            let most = load.most_sent(Some(packets + foreign / packet));
            prop_assert!(bytes + foreign > most, "{} <= {most}", bytes + foreign);
        }
    }

    #[test]
    fn many_small_foreign_packets_do_not_raise_the_bound_without_limit() {
        let load = InterfaceLoad {
            sent: 64_000,
            messages: 1_000,
            sides: 1,
            ..InterfaceLoad::default()
        };
        let most = load.most_sent(Some(u64::MAX));
        assert_eq!(most, load.most_sent(None));
        assert_eq!(
            most,
            64_000 + 1_280 + (62 + 4_000) * 128 + 128_000 + 32_768 + 2_048
        );
    }

    #[test]
    fn every_worker_sends_heartbeats_during_a_long_measurement() {
        let load = |sides, seconds: u64| InterfaceLoad {
            sides,
            interval_nanos: seconds * 1_000_000_000,
            ..InterfaceLoad::default()
        };
        assert_eq!(load(1, 0).most_sent(None), 32_768 + 2_048);
        assert_eq!(load(16, 60).most_sent(None), 16 * (32_768 + 31 * 2_048));
        let both = load(16, 60).plus(load(2, 30));
        assert_eq!((both.sides, both.interval_nanos), (18, 60_000_000_000));
    }
}
