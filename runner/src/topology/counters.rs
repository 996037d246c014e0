//! What interfaces and RDMA ports count. A [`Reading`] reads `/proc` and sysfs; differences are pure.
//!
//! Readings are taken outside the measured window, right before and after it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crds::record::{InterfaceDelta, RailFacts};

use super::{Device, DeviceClass, SystemRoots, text_of};

/// What the interfaces of some rails have counted since they came up.
#[derive(Clone, Debug)]
pub struct Reading {
    begun: Instant,
    ended: Instant,
    interfaces: BTreeMap<String, Counters>,
}

/// What one interface has counted since it came up. Interfaces without byte counters have none of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counters {
    /// On the wire.
    wire: Bytes,
    /// By the operations that the port carried out for this machine and for peers, where it counts them apart.
    operations: Option<Bytes>,
    /// Retransmitted packets, where it counts them.
    retransmits: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bytes {
    sent: u64,
    received: u64,
}

impl Bytes {
    fn since(self, before: Self) -> Self {
        // A counter that went backwards was reset: what it counted since is not known, and nothing is claimed.
        Self {
            sent: self.sent.saturating_sub(before.sent),
            received: self.received.saturating_sub(before.received),
        }
    }

    fn larger(self, other: Self) -> Self {
        Self {
            sent: self.sent.max(other.sent),
            received: self.received.max(other.received),
        }
    }
}

impl Reading {
    /// Reads the counters of the interfaces of `rails`, each once.
    pub fn take(rails: &[RailFacts], roots: &SystemRoots) -> Self {
        let begun = Instant::now();
        let mut interfaces = BTreeMap::new();
        for name in rails.iter().filter_map(|rail| rail.interface.as_ref()) {
            if !interfaces.contains_key(name)
                && let Some(counters) = read(name, roots)
            {
                interfaces.insert(name.clone(), counters);
            }
        }
        Self {
            begun,
            ended: Instant::now(),
            interfaces,
        }
    }
}

/// What every interface of `rails` counted between two readings, by name. An interface without byte counters, or that
/// is not in both readings, is left out.
pub fn delta(before: &Reading, after: &Reading, rails: &[RailFacts]) -> Vec<InterfaceDelta> {
    let interval = after.ended.saturating_duration_since(before.begun);
    before
        .interfaces
        .iter()
        .filter_map(|(name, earlier)| Some((name, earlier, after.interfaces.get(name)?)))
        .map(|(name, earlier, later)| difference(name, earlier, later, interval, rails))
        .collect()
}

fn difference(
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
    let bytes = wire.larger(operations.unwrap_or_default());
    let own = || {
        (0u32..)
            .zip(rails)
            .filter(|(_, rail)| rail.interface.as_deref() == Some(name))
    };
    InterfaceDelta {
        name: name.to_owned(),
        rails: own().map(|(number, _)| number).collect(),
        tx_bytes: bytes.sent,
        rx_bytes: bytes.received,
        retransmits: after
            .retransmits
            .zip(before.retransmits)
            .map(|(after, before)| after.saturating_sub(before)),
        interval_nanos: u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX),
        line_bits_per_second: own().find_map(|(_, rail)| rail.line_bits_per_second),
    }
}

fn read(name: &str, roots: &SystemRoots) -> Option<Counters> {
    if let Some(device) = Device::find(DeviceClass::Rdma, name, roots) {
        return port(
            &roots
                .sys
                .join("class/infiniband")
                .join(device.name)
                .join("ports/1"),
        );
    }
    // `/proc/self/net` is that of this process's network namespace; the mounted sysfs may be another's, with an
    // interface of the same name.
    let wire = text_of(&roots.proc.join("self/net/dev"))
        .and_then(|text| interface_line(&text, name))
        .or_else(|| {
            let device = Device::find(DeviceClass::Interface, name, roots)?;
            let statistics = roots.sys.join("class/net").join(device.name).join("statistics");
            bytes(&statistics, &["tx_bytes"], &["rx_bytes"])
        })?;
    Some(Counters {
        wire,
        ..Counters::default()
    })
}

/// Counters of an RDMA port: EFA's own, else those of InfiniBand's port management.
fn port(folder: &Path) -> Option<Counters> {
    let hardware = folder.join("hw_counters");
    if let Some(wire) = bytes(&hardware, &["tx_bytes"], &["rx_bytes"]) {
        return Some(Counters {
            wire,
            // EFA counts by operation too, for sends, for writes and for the answers to reads; newer drivers only.
            operations: bytes(
                &hardware,
                &["send_bytes", "rdma_write_bytes", "rdma_read_resp_bytes"],
                &["recv_bytes", "rdma_write_recv_bytes", "rdma_read_bytes"],
            ),
            retransmits: number(&hardware.join("retrans_pkts")),
        });
    }
    // "Data octets divided by 4" (InfiniBand Architecture Specification 1, PortCounters).
    let words = bytes(&folder.join("counters"), &["port_xmit_data"], &["port_rcv_data"])?;
    Some(Counters {
        wire: Bytes {
            sent: words.sent.saturating_mul(4),
            received: words.received.saturating_mul(4),
        },
        ..Counters::default()
    })
}

/// Sums of the counters in a folder that are there; nothing where the first of either direction is not.
fn bytes(folder: &Path, sent: &[&str], received: &[&str]) -> Option<Bytes> {
    let sum = |names: &[&str]| {
        let mut values = names.iter().map(|name| number(&folder.join(name)));
        let first = values.next()??;
        Some(values.flatten().fold(first, u64::saturating_add))
    };
    Some(Bytes {
        sent: sum(sent)?,
        received: sum(received)?,
    })
}

fn number(path: &Path) -> Option<u64> {
    text_of(path)?.parse().ok()
}

/// The line of an interface in `/proc/self/net/dev`: received bytes come first, sent bytes ninth.
fn interface_line(text: &str, name: &str) -> Option<Bytes> {
    let columns = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    let mut columns = columns.split_ascii_whitespace();
    let received = columns.next()?.parse().ok()?;
    let sent = columns.nth(7)?.parse().ok()?;
    Some(Bytes { sent, received })
}

#[cfg(test)]
mod tests;
