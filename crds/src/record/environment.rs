//! Environment of a measurement: machine, limits, library, endpoints and setup cost.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CaseFailure, HardwareFacts};
use crate::cpu_list;
use crate::omitted::is_zero;
use crate::v1alpha1::{Answer, MemoryKind, Polling, StepTimes};

/// Machine and resource limits of a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HostEnvironment {
    /// Name of the host or pod.
    pub hostname: String,
    /// Name of the node. Unset if it is unknown to the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Network namespace: the boot ID of the kernel and the inode of the namespace, separated by a slash. Workers with the
    /// same one see the same interfaces. Unset if the kernel does not report it, and in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_namespace: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs that the worker may use, as a list such as `0-3,8`.
    pub cpus_allowed: String,
    /// Frequency governor of the CPUs. Unset if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Limit on locked memory, in bytes. Unset if locked memory is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memlock_bytes: Option<u64>,
    /// Total memory of the machine, in bytes.
    pub memory_bytes: u64,
    /// Memory limit of the cgroup, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// CPU limit of the cgroup, in millicores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit_millis: Option<u64>,
    /// Total number of 2 MiB huge pages.
    pub hugepages_2mi_total: u64,
    /// Number of free 2 MiB huge pages.
    pub hugepages_2mi_free: u64,
    /// Free space in `/dev/shm`, in bytes.
    pub shared_memory_free_bytes: u64,
    /// Tuning declared by the image (`FABRICBENCH_VARIANT`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_variant: Option<String>,
    /// Digest of the image. Unset if it is unknown to the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_digest: Option<String>,
    /// PCI addresses of RDMA devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rdma_devices: Vec<String>,
    /// Hardware of the machine and the software that drives it.
    #[serde(default)]
    pub hardware: HardwareFacts,
    /// Rate at which one thread copies memory between two buffers that fit in the L2 cache, in bytes per second,
    /// measured when the worker starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_bytes_per_second: Option<u64>,
    /// Clock used for all measurements.
    pub clock: ClockFacts,
}

impl HostEnvironment {
    /// Name of the node, or the hostname if the node is unknown. Inside a pod, the hostname is the name of the pod.
    pub fn node_or_hostname(&self) -> &str {
        self.node.as_ref().unwrap_or(&self.hostname)
    }

    /// What identifies the interfaces that the worker sees: its network namespace, or the hostname if that is unknown.
    pub fn network(&self) -> &str {
        self.network_namespace.as_ref().unwrap_or(&self.hostname)
    }

    /// Number of CPUs that the worker can use at the same time: those that it may use, or the CPU limit of its cgroup if
    /// that is smaller. `None` if neither is known.
    pub fn cpu_count(&self) -> Option<f64> {
        let allowed = Some(cpu_list::parse(&self.cpus_allowed).len() as f64).filter(|count| *count > 0.0);
        let limit = self.cpu_limit_millis.map(|millis| millis as f64 / 1e3);
        allowed.into_iter().chain(limit).min_by(f64::total_cmp)
    }
}

/// Clock used for all measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClockFacts {
    /// Name of the clock.
    pub name: String,
    /// Clock source of the kernel.
    pub source: String,
    /// Smallest observed step between two readings, in nanoseconds.
    pub resolution_nanos: u64,
    /// Median time to read the clock, in nanoseconds.
    pub overhead_nanos: f64,
}

/// Endpoints of an arm on one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EndpointsRecord {
    /// First round that the record applies to.
    pub round: u32,
    /// Number of times that the instruments were restarted in this round before this record, because a worker or an
    /// instrument was lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restart: u32,
    /// Rank of the worker.
    pub rank: u32,
    /// Name of the arm.
    pub arm: String,
    /// Fabric reported by the library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<FabricFacts>,
    /// Failure that prevented the arm from opening its endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<CaseFailure>,
}

/// Fabric of an arm, as reported by the library. It can differ from the requested fabric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FabricFacts {
    /// Loaded library. Unset for the built-in transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<LibraryFacts>,
    /// Provider, as reported by the library.
    pub provider: String,
    /// Fabric, as reported by the library.
    pub fabric: String,
    /// Rails by index: first the rails of the first GPU or of host memory, then those of the next GPU, and so on.
    pub rails: Vec<RailFacts>,
    /// Inject limits by operation.
    pub inject_limits: InjectLimits,
    /// Number of posts that an endpoint accepts before it returns EAGAIN.
    pub transmit_depth: u64,
    /// Maximum message size of an endpoint, in bytes.
    pub max_message_bytes: u64,
    /// Memory registration mode bits, by name.
    pub registration_mode: Vec<String>,
    /// Progress model: `auto` or `manual`.
    pub progress: String,
    /// Work that the provider offloads to the device or executes in software.
    #[serde(default)]
    pub offload: OffloadFacts,
    /// How the library reacts to the loss of a peer: `peer` if it reports the loss, `none` if posts to a lost peer end
    /// only at the case deadline. Unset for libraries without this choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_handling: Option<String>,
    /// Settings that the transport applied to the library configuration, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// SHA-256 hash of the effective configuration, in hexadecimal. It covers the configuration that the library
    /// printed for every rail, the settings that were applied, the library's environment variables, and the contents of
    /// the configuration files. The rail devices, the file paths, and values that the library measures are excluded, so
    /// that the workers and rounds of an arm can be compared. Unset for libraries that cannot print their
    /// configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration_sha256: Option<String>,
    /// Configuration files that the library may have read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configuration_files: Vec<String>,
    /// How the worker waits for completions, by scenario.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub polling: BTreeMap<String, Polling>,
    /// CPUs to which the measuring threads are pinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned_cpus: Vec<u32>,
    /// NUMA node of the CPUs and the memory of each measuring thread, if the threads are distributed over the nodes.
    /// Empty if the threads are not distributed, or if the nodes are unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread_numa_nodes: Vec<u32>,
    /// Memory that each scenario uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryFacts>,
    /// Environment variables of the instrument that configure fabric libraries. Secret values are masked, long values
    /// are truncated, and excess variables are omitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// SHA-256 hash of all environment variables that configure fabric libraries, in hexadecimal. The hash input
    /// contains `NAME=VALUE` and a line feed for each variable, sorted by name. Secret values are masked, but nothing
    /// is truncated or omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables_sha256: Option<String>,
}

/// Protocols that the library used for an arm's messages on one worker in round 0, in which no result is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProtocolsRecord {
    /// Round number.
    pub round: u32,
    /// Number of times that the instruments were restarted in this round before the instrument started, because a worker
    /// or an instrument was lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restart: u32,
    /// Rank of the worker.
    pub rank: u32,
    /// Name of the arm.
    pub arm: String,
    /// Protocols that were used at least once.
    pub protocols: Vec<ProtocolUse>,
    /// Number of used protocols that `protocols` omits to keep the record short. They have the smallest counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

/// Protocol that the library selected for a function and a range of sizes, as reported by the library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProtocolUse {
    /// Function of the library that was called, such as `ucp_put`.
    pub function: String,
    /// Smallest message for which the protocol is selected, in bytes.
    pub from_bytes: u64,
    /// Largest message for which the protocol is selected, in bytes. Unset if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_bytes: Option<u64>,
    /// Kind of the local memory for which the protocol is selected, such as `host` or `cuda`. Unset if the library does
    /// not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Description of the protocol, such as `zero-copy` or `software emulation`.
    pub description: String,
    /// Transports and devices that the protocol uses, such as `tcp/lo`.
    pub lanes: String,
    /// Number of times that the protocol was started. Protocols that split a message are counted once per fragment, and
    /// some calls for small messages are not counted.
    pub count: u64,
    /// Time spent in each step of the transfers. Unset for libraries with one call per transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepTimes>,
}

impl ProtocolUse {
    /// Adds the count to the entry for the same protocol in `protocols`, or adds the protocol.
    pub fn add_to(self, protocols: &mut Vec<Self>) {
        let same = |known: &&mut Self| {
            let with_count = Self {
                count: self.count,
                steps: self.steps.clone(),
                ..(**known).clone()
            };
            with_count == self
        };
        match protocols.iter_mut().find(same) {
            Some(known) => {
                known.count = known.count.saturating_add(self.count);
                if let Some(steps) = &self.steps {
                    known.steps.get_or_insert_default().add(steps);
                }
            }
            None => protocols.push(self),
        }
    }

    /// Whether the protocol is selected for messages of `bytes` bytes.
    pub fn covers(&self, bytes: u64) -> bool {
        self.from_bytes <= bytes && self.to_bytes.is_none_or(|to| bytes <= to)
    }
}

/// Work that the provider offloads to the device or executes in software.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OffloadFacts {
    /// Whether RMA reads are emulated with messages. Unset for providers without a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated_reads: Option<Answer>,
    /// Whether RMA writes are emulated with messages. Unset for providers without a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated_writes: Option<Answer>,
    /// Whether data in GPU memory is staged in host memory. Unset if no GPU memory is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged: Option<Answer>,
    /// Largest message that is passed to the device inline, as part of the work request, in bytes. Larger injected
    /// messages are copied to a buffer of the provider. Unset if the limit is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_bytes: Option<u64>,
}

/// Loaded library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LibraryFacts {
    /// Name of the library, such as `libfabric`.
    pub name: String,
    /// Version reported by the library.
    pub version: String,
    /// Negotiated API version.
    pub api_version: String,
    /// Path of the loaded file.
    pub path: String,
    /// ELF build ID of the file. Unset if the file has no build ID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
}

/// Rail of an arm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RailFacts {
    /// Domain, as reported by the library.
    pub domain: String,
    /// Network interface or RDMA device of the rail. Unset if the rail has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// PCI address of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci: Option<String>,
    /// Lanes over which the library transfers the rail's data once the peers are connected, each as `transport/device`.
    /// Empty if the library has no lanes, or does not report them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<String>,
    /// Human-readable address of the endpoint.
    pub address: String,
    /// Link rate, in bits per second. Unset if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_bits_per_second: Option<u64>,
    /// NUMA node of the device. Unset if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    /// PCI address of the GPU whose memory the rail accesses. Unset for host memory. If scenarios use both GPU and host
    /// memory, `gpu`, `memoryNumaNode` and `locality` describe GPU memory. If several threads use the rail, these
    /// fields describe the memory in the least favorable position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<String>,
    /// NUMA node of the memory that the rail accesses. Unset if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_numa_node: Option<u32>,
    /// Position of the device relative to the memory that the rail accesses. Unset if the rail uses no PCI device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locality: Option<Locality>,
}

/// Position of a NIC relative to the memory that it accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Locality {
    /// The NIC and the GPU are below the same PCI root complex and are not known to be on different NUMA nodes. This
    /// value is not used if the machine has several GPUs that are all below the same root complex.
    PciRoot,
    /// The NIC and the memory are on the same NUMA node.
    NumaNode,
    /// The NIC and the memory are on different NUMA nodes.
    Remote,
    /// The kernel does not report the position of the NIC or of the memory.
    Unknown,
}

impl fmt::Display for Locality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PciRoot => "same PCI root complex",
            Self::NumaNode => "same NUMA node",
            Self::Remote => "different NUMA nodes",
            Self::Unknown => "position not reported by the kernel",
        })
    }
}

/// Largest message that an inject call accepts, by operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InjectLimits {
    /// Limit for sends, in bytes.
    pub send_bytes: u64,
    /// Limit for RMA writes, in bytes.
    pub write_bytes: u64,
}

/// Memory of one scenario, as allocated and registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MemoryFacts {
    /// Name of the scenario.
    pub scenario: String,
    /// Kind of memory.
    pub kind: MemoryKind,
    /// Size of the memory, in bytes.
    pub bytes: u64,
    /// Registration method, such as `fi_mr_reg` or `none needed`.
    pub registration: String,
    /// NUMA node of the pages. Unset if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    /// PCI addresses of the GPUs that hold the memory of the threads. Empty for host memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<String>,
}

impl FabricFacts {
    /// PCI addresses of the GPUs that hold memory of any scenario, without duplicates.
    pub fn gpus(&self) -> BTreeSet<&str> {
        let gpus = self.memory.iter().flat_map(|facts| &facts.gpus);
        gpus.map(String::as_str).collect()
    }
}

/// Setup cost of an arm on one worker in one round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ColdRecord {
    /// Round number.
    pub round: u32,
    /// Rank of the worker.
    pub rank: u32,
    /// Name of the arm.
    pub arm: String,
    /// Time to load the library and to initialize its providers, in nanoseconds. All arms of a process share one copy
    /// of the library, so they have the same value. Close to 0 for a transport without a library.
    #[serde(default)]
    pub load_nanos: u64,
    /// Time to start the thread that opens the endpoints, in nanoseconds. Unset if the process measures on its main
    /// thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_start_nanos: Option<u64>,
    /// Time to open the fabric, and the domains and endpoints of all rails, in nanoseconds.
    pub open_nanos: u64,
    /// Time to register all buffers on all rails, in nanoseconds.
    pub registration_nanos: u64,
    /// Number of registered bytes.
    pub registered_bytes: u64,
    /// Time to insert the addresses of all peers, in nanoseconds.
    pub address_insertion_nanos: u64,
    /// Time from the first post to its completion, in nanoseconds. Unset for a worker that posts no operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_post_nanos: Option<u64>,
    /// Number of transfer requests that were prepared to be posted several times. Unset for libraries without such
    /// requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepared_requests: Option<u64>,
    /// Time to prepare the requests in `preparedRequests`, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation_nanos: Option<u64>,
}
