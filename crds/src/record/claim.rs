//! Devices that a worker's claim obtained. The operator writes this record, not a worker.

use serde::{Deserialize, Serialize};

use crate::assignment::AttemptIdentity;

/// Devices that one claim of a worker obtained, as read from the ResourceClaim's status and the drivers' ResourceSlices.
/// Written by the operator before the first block of the attempt. Each record is a stream of its own: its line has the
/// sequence number 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClaimRecord {
    /// Version of the record stream format.
    pub version: u32,
    /// Run, plan, leg and attempt that the worker belongs to.
    pub identity: AttemptIdentity,
    /// Rank of the worker.
    pub rank: u32,
    /// Index of the group.
    pub group: u32,
    /// Node of the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The devices, in the order of the allocation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<ClaimedDevice>,
    /// Why the devices or their attributes could not be read. If unset, everything was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

/// Device of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClaimedDevice {
    /// Name of the request that the device satisfies.
    pub request: String,
    /// Name of the driver.
    pub driver: String,
    /// Name of the driver's pool.
    pub pool: String,
    /// Name of the device in the pool.
    pub device: String,
    /// Name of the RDMA device, if the driver publishes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma_device: Option<String>,
    /// PCI root complex, if the driver publishes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_root: Option<String>,
    /// NUMA node, if the driver publishes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<i64>,
}

impl ClaimedDevice {
    /// Name by which users know the device: that of the RDMA device, or else that in the driver's pool.
    pub fn name(&self) -> &str {
        self.rdma_device.as_deref().unwrap_or(&self.device)
    }
}
