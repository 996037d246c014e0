//! What the numbers were taken on: machine, limits, library, endpoints, and what it cost to get there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::CaseFailure;
use crate::v1alpha1::{MemoryKind, Polling};

/// A worker's machine and limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HostEnvironment {
    /// Name of the host or pod.
    pub hostname: String,
    /// Name of the node, where the worker was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Release of the kernel.
    pub kernel: String,
    /// Model of the CPU.
    pub cpu_model: String,
    /// Processors the worker may use, as a list such as `0-3,8`.
    pub cpus_allowed: String,
    /// Frequency governor of these processors; nothing where the kernel shows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Limit of locked memory in bytes; nothing where it is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memlock_bytes: Option<u64>,
    /// Memory of the machine.
    pub memory_bytes: u64,
    /// Memory limit of the control group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// CPU limit of the control group, in thousandths of a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit_millis: Option<u64>,
    /// Huge pages of 2 MiB there are.
    pub hugepages_2mi_total: u64,
    /// Huge pages of 2 MiB that are free.
    pub hugepages_2mi_free: u64,
    /// Free bytes of `/dev/shm`.
    pub shared_memory_free_bytes: u64,
    /// What the image says of itself (`FABRICBENCH_VARIANT`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_variant: Option<String>,
    /// Digest of the image, where the worker was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_digest: Option<String>,
    /// PCI addresses of RDMA devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rdma_devices: Vec<String>,
    /// The clock all times are taken with.
    pub clock: ClockFacts,
}

/// The clock all times are taken with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClockFacts {
    /// Name of the clock.
    pub name: String,
    /// Clock source of the kernel.
    pub source: String,
    /// Smallest step seen between two readings.
    pub resolution_nanos: u64,
    /// Median cost of a reading.
    pub overhead_nanos: f64,
}

/// What the endpoints of an arm really are, at one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EndpointsRecord {
    /// Number of the round from which on it holds.
    pub round: u32,
    /// Rank of the worker.
    pub rank: u32,
    /// Name of the arm.
    pub arm: String,
    /// What the library returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<FabricFacts>,
    /// Why the arm has no endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<CaseFailure>,
}

/// What the library returned for an arm: never what was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FabricFacts {
    /// The library; nothing for the built-in transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<LibraryFacts>,
    /// Provider, as the library names it.
    pub provider: String,
    /// Fabric, as the library names it.
    pub fabric: String,
    /// The rails, by index.
    pub rails: Vec<RailFacts>,
    /// Largest message an inject call takes, by operation.
    pub inject_limits: InjectLimits,
    /// Posts an endpoint takes before it answers EAGAIN.
    pub transmit_depth: u64,
    /// Largest message of an endpoint.
    pub max_message_bytes: u64,
    /// Memory registration mode bits, by name.
    pub registration_mode: Vec<String>,
    /// Who makes progress: `auto` or `manual`.
    pub progress: String,
    /// Operations the provider carries out in software above the device, where it says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emulated: Vec<String>,
    /// How this side waits for completions, by scenario.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub polling: BTreeMap<String, Polling>,
    /// Processors the measuring threads were pinned to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned_cpus: Vec<u32>,
    /// Memory of each scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryFacts>,
    /// Variables of the instrument's environment that change how fabric libraries behave.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
}

/// A library that was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LibraryFacts {
    /// Name, such as `libfabric`.
    pub name: String,
    /// Version it reports of itself.
    pub version: String,
    /// API version that was agreed on.
    pub api_version: String,
    /// File it was loaded from.
    pub path: String,
    /// Build identity of the file (ELF build ID), where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
}

/// One rail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RailFacts {
    /// Domain, as the library names it.
    pub domain: String,
    /// Network interface or RDMA device that carries it, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// PCI address of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci: Option<String>,
    /// Address of the endpoint, for people.
    pub address: String,
    /// Rate of the link, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_bits_per_second: Option<u64>,
}

/// Largest message an inject call takes, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InjectLimits {
    /// For sends.
    pub send_bytes: u64,
    /// For RMA writes.
    pub write_bytes: u64,
}

/// Memory of one scenario, as it was really got and registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MemoryFacts {
    /// Name of the scenario.
    pub scenario: String,
    /// Its kind.
    pub kind: MemoryKind,
    /// Bytes of it.
    pub bytes: u64,
    /// How it was registered, such as `fi_mr_reg` or `none needed`.
    pub registration: String,
    /// NUMA node of its pages, where the kernel shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
}

/// What one arm cost before its first measured operation in a round, at one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ColdRecord {
    /// Number of the round.
    pub round: u32,
    /// Rank of the worker.
    pub rank: u32,
    /// Name of the arm.
    pub arm: String,
    /// Start of the measuring thread, to its first instruction.
    pub thread_start_nanos: u64,
    /// Opening of library, fabric, domains and endpoints of all rails.
    pub open_nanos: u64,
    /// Registration of all buffers on all rails.
    pub registration_nanos: u64,
    /// Bytes registered.
    pub registered_bytes: u64,
    /// Insertion of all peers' addresses.
    pub address_insertion_nanos: u64,
    /// First post to its completion; nothing where this worker posted nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_post_nanos: Option<u64>,
}
