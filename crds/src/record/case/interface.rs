//! Counter deltas of network interfaces.

use serde::{Deserialize, Serialize};

/// Changes in the counters of a network interface between a reading before and a reading after the measured window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InterfaceDelta {
    /// Name of the network interface or RDMA device.
    pub name: String,
    /// Indexes of the rails that use the interface.
    pub rails: Vec<u32>,
    /// Bytes sent. For a software RDMA device, the bytes that the underlying network interface sent.
    pub tx_bytes: u64,
    /// Bytes received. For a software RDMA device, the bytes that the underlying network interface received.
    pub rx_bytes: u64,
    /// Packets sent. Unset if the interface does not count them, and for a software RDMA device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tx_packets: Option<u64>,
    /// Packets received. Unset if the interface does not count them, and for a software RDMA device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rx_packets: Option<u64>,
    /// Packet counters of a software RDMA device, which does not count bytes. Unset for all other interfaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<SoftwareDevice>,
    /// Number of retransmitted packets. Unset if the interface does not count retransmissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Time between the two readings, in nanoseconds. This interval is longer than the window because the counters are
    /// read outside the window.
    pub interval_nanos: u64,
    /// Link rate, in bits per second. Unset if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_bits_per_second: Option<u64>,
}

/// Packet counters of a software RDMA device (soft-RoCE). The device does not count bytes, and the network interface
/// below it also carries other traffic. Together, they show how many bytes the device can have transferred.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SoftwareDevice {
    /// Name of the network interface below the device.
    pub interface: String,
    /// Maximum packet size of the interface, in bytes.
    pub packet_bytes: u64,
    /// Packets that the device sent.
    pub tx_packets: u64,
    /// Packets that the device received.
    pub rx_packets: u64,
}
