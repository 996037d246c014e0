//! Byte counters of interfaces and RDMA ports. [`CounterReading::take`] reads `/proc` and sysfs; computing differences
//! performs no I/O.
//!
//! Readings are taken outside the measured window, before and after it. The kernel refreshes the hardware counters of
//! RDMA devices at most once per interval, so a reading is guaranteed to include all earlier traffic only if it is
//! taken after waiting for [`refresh_interval`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crds::record::{InterfaceDelta, RailFacts, SoftwareDevice};

use super::{Device, DeviceClass, SystemRoots, read_text};

/// Counters of the interfaces that a set of rails uses, at one point in time.
#[derive(Clone, Debug)]
pub struct CounterReading {
    started: Instant,
    ended: Instant,
    interfaces: BTreeMap<String, Counters>,
}

/// Counters of one interface. Interfaces without byte counters have no `Counters`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counters {
    /// Bytes on the wire.
    wire: Traffic,
    /// Packets on the wire; `None` if the interface does not count them, and for a software RDMA device.
    packets: Option<Traffic>,
    /// Bytes transferred by the operations that the port executed for this machine or its peers; `None` if the port has
    /// no per-operation counters.
    operations: Option<Traffic>,
    /// Retransmitted packets; `None` if the interface does not count them.
    retransmits: Option<u64>,
    /// Packet counts of a software RDMA device; `None` for other interfaces.
    software: Option<SoftwareDevice>,
}

/// Counts of one unit, bytes or packets, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Traffic {
    sent: u64,
    received: u64,
}

impl Traffic {
    fn since(self, before: Self) -> Self {
        // A counter that decreased was reset, so the difference is unknown and reported as 0.
        Self {
            sent: self.sent.saturating_sub(before.sent),
            received: self.received.saturating_sub(before.received),
        }
    }

    fn elementwise_max(self, other: Self) -> Self {
        Self {
            sent: self.sent.max(other.sent),
            received: self.received.max(other.received),
        }
    }
}

impl CounterReading {
    /// Reads the interface counters of `rails`. Reads each interface only once, even when several rails use it.
    pub fn take(rails: &[RailFacts], roots: &SystemRoots) -> Self {
        let started = Instant::now();
        let mut interfaces = BTreeMap::new();
        for name in rails.iter().filter_map(|rail| rail.interface.as_ref()) {
            if !interfaces.contains_key(name)
                && let Some(counters) = read_counters(name, roots)
            {
                interfaces.insert(name.clone(), counters);
            }
        }
        Self {
            started,
            ended: Instant::now(),
            interfaces,
        }
    }
}

/// Default and maximum interval between refreshes of hardware counters in Linux (`RDMA_HW_STATS_DEFAULT_LIFESPAN` in
/// `include/rdma/ib_verbs.h`, `hw_stat_lifespan_store` in `drivers/infiniband/core/sysfs.c`).
const DEFAULT_LIFESPAN_MILLIS: u64 = 10;
const MAX_LIFESPAN_MILLIS: u64 = 10_000;

/// Maximum delay of a refresh after the end of the interval. The kernel rounds the interval up to whole timer ticks and
/// waits one additional tick. A tick is at most 10 ms long.
const TICKS: Duration = Duration::from_millis(20);

/// Returns the time to wait before reading the counters of `rails`, so that the reading includes all traffic that
/// preceded the wait.
///
/// Zero if the kernel caches none of the counters.
pub fn refresh_interval(rails: &[RailFacts], roots: &SystemRoots) -> Duration {
    let names: BTreeSet<&String> = rails.iter().filter_map(|rail| rail.interface.as_ref()).collect();
    let intervals = names.into_iter().filter_map(|name| {
        let device = Device::find(DeviceClass::Rdma, name, roots)?;
        let hardware = port_directory(&device, roots).join("hw_counters");
        read_number(&hardware.join("tx_bytes")).or_else(|| read_number(&hardware.join(SENT_PACKETS)))?;
        let millis = read_number(&hardware.join("lifespan")).unwrap_or(DEFAULT_LIFESPAN_MILLIS);
        Some(Duration::from_millis(millis.min(MAX_LIFESPAN_MILLIS)) + TICKS)
    });
    intervals.max().unwrap_or_default()
}

/// Computes the differences between two readings for every interface of `rails`.
///
/// Interfaces that are not in both readings are omitted.
pub fn delta(before: &CounterReading, after: &CounterReading, rails: &[RailFacts]) -> Vec<InterfaceDelta> {
    let interval = after.ended.saturating_duration_since(before.started);
    before
        .interfaces
        .iter()
        .filter_map(|(name, earlier)| Some((name, earlier, after.interfaces.get(name)?)))
        .map(|(name, earlier, later)| interface_delta(name, earlier, later, interval, rails))
        .collect()
}

fn interface_delta(
    name: &str,
    before: &Counters,
    after: &Counters,
    interval: Duration,
    rails: &[RailFacts],
) -> InterfaceDelta {
    let wire = after.wire.since(before.wire);
    let operations = after
        .operations
        .zip(before.operations)
        .map(|(after, before)| after.since(before));
    let bytes = wire.elementwise_max(operations.unwrap_or_default());
    let packets = after
        .packets
        .zip(before.packets)
        .map(|(after, before)| after.since(before));
    let rails_of_interface = || {
        (0u32..)
            .zip(rails)
            .filter(|(_, rail)| rail.interface.as_deref() == Some(name))
    };
    InterfaceDelta {
        name: name.to_owned(),
        rails: rails_of_interface().map(|(number, _)| number).collect(),
        tx_bytes: bytes.sent,
        rx_bytes: bytes.received,
        tx_packets: packets.map(|packets| packets.sent),
        rx_packets: packets.map(|packets| packets.received),
        software: after
            .software
            .as_ref()
            .zip(before.software.as_ref())
            .map(|(after, before)| packets_since(after, before)),
        retransmits: after
            .retransmits
            .zip(before.retransmits)
            .map(|(after, before)| after.saturating_sub(before)),
        interval_nanos: u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX),
        line_bits_per_second: rails_of_interface().find_map(|(_, rail)| rail.line_bits_per_second),
    }
}

fn packets_since(after: &SoftwareDevice, before: &SoftwareDevice) -> SoftwareDevice {
    SoftwareDevice {
        tx_packets: after.tx_packets.saturating_sub(before.tx_packets),
        rx_packets: after.rx_packets.saturating_sub(before.rx_packets),
        ..after.clone()
    }
}

fn read_counters(name: &str, roots: &SystemRoots) -> Option<Counters> {
    if let Some(device) = Device::find(DeviceClass::Rdma, name, roots) {
        return read_port_counters(&port_directory(&device, roots))
            .or_else(|| read_software_counters(&device, roots));
    }
    let (wire, packets) = read_interface_traffic(name, roots)?;
    Some(Counters {
        wire,
        packets,
        ..Counters::default()
    })
}

/// Packet counters of soft-RoCE (`drivers/infiniband/sw/rxe/rxe_hw_counters.c`).
const SENT_PACKETS: &str = "sent_pkts";
const RECEIVED_PACKETS: &str = "rcvd_pkts";

/// Reads the packet counters of a software RDMA device, and the byte counters of the network interface below it.
fn read_software_counters(device: &Device, roots: &SystemRoots) -> Option<Counters> {
    let hardware = port_directory(device, roots).join("hw_counters");
    let (tx_packets, rx_packets) = (
        read_number(&hardware.join(SENT_PACKETS))?,
        read_number(&hardware.join(RECEIVED_PACKETS))?,
    );
    let interface = read_text(
        &roots
            .sys
            .join("class/infiniband")
            .join(&device.name)
            .join("parent"),
    )?;
    Device::find(DeviceClass::Interface, &interface, roots)?;
    let packet_bytes = read_number(&roots.sys.join("class/net").join(&interface).join("mtu"))?;
    Some(Counters {
        wire: read_interface_traffic(&interface, roots)?.0,
        software: Some(SoftwareDevice {
            interface,
            packet_bytes,
            tx_packets,
            rx_packets,
        }),
        ..Counters::default()
    })
}

/// Reads the bytes that a network interface has sent and received, and its packets if it counts them.
fn read_interface_traffic(name: &str, roots: &SystemRoots) -> Option<(Traffic, Option<Traffic>)> {
    // `/proc/self/net` belongs to the network namespace of this process. The mounted sysfs may belong to another
    // namespace that has an interface with the same name.
    read_text(&roots.proc.join("self/net/dev"))
        .and_then(|text| parse_interface_line(&text, name))
        .or_else(|| {
            let device = Device::find(DeviceClass::Interface, name, roots)?;
            let statistics = roots.sys.join("class/net").join(device.name).join("statistics");
            let bytes = read_counts(&statistics, &["tx_bytes"], &["rx_bytes"])?;
            Some((bytes, read_counts(&statistics, &["tx_packets"], &["rx_packets"])))
        })
}

fn port_directory(device: &Device, roots: &SystemRoots) -> PathBuf {
    roots
        .sys
        .join("class/infiniband")
        .join(&device.name)
        .join("ports/1")
}

/// Reads the counters of an RDMA port: the EFA counters if they exist, otherwise the standard InfiniBand port counters.
fn read_port_counters(directory: &Path) -> Option<Counters> {
    let hardware = directory.join("hw_counters");
    if let Some(wire) = read_counts(&hardware, &["tx_bytes"], &["rx_bytes"]) {
        return Some(Counters {
            wire,
            packets: read_counts(&hardware, &["tx_pkts"], &["rx_pkts"]),
            // Newer EFA drivers also count bytes by operation: sends, writes and read responses.
            operations: read_counts(
                &hardware,
                &["send_bytes", "rdma_write_bytes", "rdma_read_resp_bytes"],
                &["recv_bytes", "rdma_write_recv_bytes", "rdma_read_bytes"],
            ),
            retransmits: read_number(&hardware.join("retrans_pkts")),
            software: None,
        });
    }
    // "Data octets divided by 4" (InfiniBand Architecture Specification 1, PortCounters).
    let standard = directory.join("counters");
    let words = read_counts(&standard, &["port_xmit_data"], &["port_rcv_data"])?;
    Some(Counters {
        packets: read_counts(&standard, &["port_xmit_packets"], &["port_rcv_packets"]),
        wire: Traffic {
            sent: words.sent.saturating_mul(4),
            received: words.received.saturating_mul(4),
        },
        ..Counters::default()
    })
}

/// Sums of the existing counters in a directory; `None` if the first counter of either direction does not exist.
fn read_counts(directory: &Path, sent: &[&str], received: &[&str]) -> Option<Traffic> {
    let sum = |names: &[&str]| {
        let mut values = names.iter().map(|name| read_number(&directory.join(name)));
        let first = values.next()??;
        Some(values.flatten().fold(first, u64::saturating_add))
    };
    Some(Traffic {
        sent: sum(sent)?,
        received: sum(received)?,
    })
}

fn read_number(path: &Path) -> Option<u64> {
    read_text(path)?.parse().ok()
}

/// Parses an interface's line in `/proc/self/net/dev`: received bytes and packets are in columns 1 and 2, sent bytes and
/// packets in columns 9 and 10.
fn parse_interface_line(text: &str, name: &str) -> Option<(Traffic, Option<Traffic>)> {
    let columns = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    let columns: Vec<&str> = columns.split_ascii_whitespace().collect();
    let traffic = |received: usize, sent: usize| {
        Some(Traffic {
            sent: columns.get(sent)?.parse().ok()?,
            received: columns.get(received)?.parse().ok()?,
        })
    };
    Some((traffic(0, 8)?, traffic(1, 9)))
}

#[cfg(test)]
mod tests;
