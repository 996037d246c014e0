//! Environment of a run: machines, fabric and devices.

use serde::{Deserialize, Serialize};

/// Summary of the software and hardware environment of the workers. The records contain all details.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentSummary {
    /// Kernel releases of the workers.
    pub kernels: Vec<String>,
    /// CPU models of the workers.
    pub cpu_models: Vec<String>,
    /// Loaded libraries, with version and path.
    pub libraries: Vec<String>,
    /// How the workers waited for completions.
    pub polling: Vec<String>,
    /// Instance types of the workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instance_types: Vec<String>,
    /// RDMA devices and GPUs of the workers, with driver, firmware and PCI link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
}

/// Fabric that carried the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FabricSummary {
    /// Weakest level of proof among the measured cases, including invalid cases.
    pub proof: FabricProof,
    /// Provider, as reported by the library.
    pub provider: String,
    /// Explanation of the level of proof.
    pub reason: String,
    /// Bytes that the network interfaces sent during the valid cases. Unset if no interface has byte counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_bytes: Option<u64>,
    /// Payload bytes that the network interfaces had to send during the valid cases.
    pub payload_bytes: u64,
    /// Bytes of other traffic that the network interfaces counted during the valid cases. Unset if no interface has byte
    /// counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_bytes: Option<u64>,
}

/// Level of proof that the data used the requested fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum FabricProof {
    /// The reported provider or the byte counters of the network interfaces contradict the use of the requested fabric.
    Contradicted,
    /// Byte counters of the network interfaces cover the payload, but they also counted other traffic, which can have
    /// caused these counts and disturbed the measurement.
    Shared,
    /// The library reports the requested fabric, but there is no independent evidence.
    Declared,
    /// Byte counters of the network interfaces account for the payload, and the payload accounts for the counters.
    Verified,
}

/// Deviation of one pair of nodes from the other pairs in the primary metric of the scenario, measured with the
/// baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PairResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Node of the initiator.
    pub initiator: String,
    /// Node of the target.
    pub target: String,
    /// Difference between the pair's median and the median of all pairs, in parts per million. Positive if the pair's
    /// median is higher.
    pub deviation_ppm: i64,
}

/// Deviation of one node from the other nodes in the primary metrics of all scenarios, measured with the baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeResult {
    /// Name of the node.
    pub name: String,
    /// Median deviation of the node's pairs over all scenarios and sizes, in parts per million. Positive if the node is
    /// worse.
    pub deviation_ppm: i64,
}
