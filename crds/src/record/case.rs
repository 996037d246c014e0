//! Result of a case on one pair of workers: a measurement, an integrity report or a failure.

use serde::{Deserialize, Serialize};

use super::{CommandLog, CpuContention, Durations, ServingReport};
use crate::assignment::Pass;
use crate::histogram::Histogram;
use crate::omitted::is_zero;

/// Result of a case on one pair of workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CaseRecord {
    /// Index of the block in the plan.
    pub block: u32,
    /// Round number.
    pub round: u32,
    /// Number of times that the instruments were restarted in this round before the case, because a worker or an
    /// instrument was lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restart: u32,
    /// Purpose of the block.
    pub pass: Pass,
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Name of the arm.
    pub arm: String,
    /// Position of the arm in the order of its block, starting at 0.
    pub position: u32,
    /// Rank of the initiator.
    pub initiator: u32,
    /// Rank of the target.
    pub target: u32,
    /// Time at which the case started, in nanoseconds since the start of the stream.
    pub started_nanos: u64,
    /// Time from the command that opens the windows of all flows to the last report that a window has closed, in
    /// nanoseconds on the coordinator's clock. Set only for the many-to-many pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_nanos: Option<u64>,
    /// Result of the case.
    pub result: CaseResult,
}

/// Result of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CaseResult {
    /// The case was measured.
    Measured(Box<Measurement>),
    /// The integrity of the data was checked.
    Checked(IntegrityReport),
    /// The case failed.
    Failed(CaseFailure),
}

/// Reports from both workers of a pair on the measured window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Measurement {
    /// Report from the initiator, which posts first.
    pub initiator: SideReport,
    /// Report from the target.
    pub target: SideReport,
}

/// Report from one worker on the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SideReport {
    /// Length of the measured window according to this worker's clock, in nanoseconds.
    pub window_nanos: u64,
    /// User and system CPU time of all threads of the instrument process, and of an extension that it started, during
    /// the window, in nanoseconds. If the process runs several flows at the same time, the CPU time is divided by their
    /// number.
    pub cpu_nanos: u64,
    /// Number of voluntary context switches during the window.
    pub voluntary_switches: u64,
    /// Number of involuntary context switches during the window.
    pub involuntary_switches: u64,
    /// Number of pinned threads that were observed on a CPU other than their own during the window.
    pub migrations: u64,
    /// Time for which the cgroup was throttled during the window, in nanoseconds. Unset if the kernel does not report
    /// throttling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_nanos: Option<u64>,
    /// Whether the CPU frequency governor changed during the window.
    pub governor_changed: bool,
    /// Operations posted by this worker. Unset for a worker that posts no operations. In parameter serving, the
    /// operations of the initiator are the versions that it delivered, and those of the target are the versions that
    /// its workers used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posted: Option<Posted>,
    /// Staleness of the parameters that the workers used. Only the target of a parameter serving case reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<Box<ServingReport>>,
    /// Counter deltas of the rails' network interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceDelta>,
    /// Competition for the CPUs of this worker during the window. Unset if the kernel reports neither run-queue waits nor
    /// the use of the CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<CpuContention>,
}

/// Operations posted by one worker in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Posted {
    /// Number of completed round trips or transfers.
    pub operations: u64,
    /// Payload bytes of the operations, in one direction.
    pub payload_bytes: u64,
    /// Time from the first post to the last completion, in nanoseconds.
    pub elapsed_nanos: u64,
    /// Latency distribution of the operations: half the round-trip time for ping-pong, the time from the call to its
    /// reply for calls, or the time from post to completion for transfers. In an open loop, it counts from the intended
    /// start. In parameter serving, it counts from the publication of a version: to its delivery to all workers for the
    /// initiator, and to its first use by each worker for the target.
    pub latency: Histogram,
    /// Exact minimum latency, in nanoseconds. Values in the histogram are rounded.
    pub min_nanos: u64,
    /// Exact maximum latency, in nanoseconds.
    pub max_nanos: u64,
    /// Percentiles of the raw samples. Unset if the samples were not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusive_quantiles: Option<ExclusiveQuantiles>,
    /// Posting counters.
    pub counters: PostingCounters,
    /// Start times of the transfers or samples in an open loop. Unset for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoopReport>,
    /// Time from the local completion of a transfer to the completion of the flush that follows it. Unset if no flushes
    /// follow the transfers, or if the library has no flush operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Durations>,
    /// Round-trip times of pings. Unset if this worker sends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<PingReport>,
    /// Values specific to calls. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallReport>,
    /// Memory use of the host and the consumers of a tensor. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<FootprintReport>,
    /// Values that a command reported. Unset for other workloads. A command's record contains no latency distribution,
    /// because its tool does not report one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandReport>,
    /// Transfers of the window in which all flows of the many-to-many pattern, or both directions of a bidirectional
    /// closed loop, are active. The latencies include only these transfers, while the other values also include the
    /// transfers before and after this window. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simultaneous: Option<Simultaneous>,
    /// Latency of the reads in a workload that reads back what it has written. `latency` contains both reads and
    /// writes. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<Durations>,
    /// Time from the first post of the first burst of the warm-up to the completion of the last transfer in this burst,
    /// in nanoseconds. If there are several threads, this is the longest of their times. Unset unless the workload has
    /// segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_burst_nanos: Option<u64>,
}

/// Result of one run of a command, as printed by its tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CommandReport {
    /// Latency in nanoseconds. Unset if the tool printed no latency, or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_nanos: Option<f64>,
    /// Range of the latency before printing, in nanoseconds. If `latencyNanos` is unset, the tool printed 0: the latency
    /// is below its resolution. Unset if the tool printed no latency, and in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_range: Option<PrintedRange>,
    /// Payload bytes per second. Unset if the tool printed no bandwidth, or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<f64>,
    /// Range of the bandwidth before printing, in bytes per second. If `bytesPerSecond` is unset, the tool printed 0: the
    /// bandwidth is below its resolution. Unset if the tool printed no bandwidth, and in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_range: Option<PrintedRange>,
    /// Lower bound of the payload bytes that the tool transferred in at least one direction. Unset if the output does
    /// not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<u64>,
    /// Upper bound of the payload bytes that the tool reports in one direction, over all sizes in its output. Unset if the
    /// output does not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_payload_bytes: Option<u64>,
    /// Log lines of the client.
    #[serde(default, skip_serializing_if = "CommandLog::is_empty")]
    pub log: CommandLog,
    /// Lines that earlier runners recorded as reports of a fallback, without a rule. No longer written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
}

/// The values that a tool prints like the value that it printed. A tool that rounds prints a value to half a unit of its
/// last digit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PrintedRange {
    /// Least value that is printed in this way; 0 if 0 was printed.
    pub least: f64,
    /// Greatest value that is printed in this way.
    pub most: f64,
}

/// Memory use of a host and its consumers, in bytes. Sums over consumers do not include the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FootprintReport {
    /// Number of consumers.
    pub consumers: u32,
    /// Proportional set size (Pss) of the host before it allocates the tensor and starts the consumers.
    pub baseline_pss_bytes: u64,
    /// Resident set size (Rss) of the host before it allocates the tensor and starts the consumers.
    pub baseline_rss_bytes: u64,
    /// Sum of the Pss of the consumers before they receive the tensor.
    pub own_pss_bytes: u64,
    /// Lowest of these values. Unset in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_pss_min_bytes: Option<u64>,
    /// Highest of these values. Unset in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_pss_max_bytes: Option<u64>,
    /// Sum of the Pss of the consumers while all have the tensor.
    pub consumers_pss_bytes: u64,
    /// Sum of the Rss of the consumers while all have the tensor. It counts a shared page once for each consumer.
    pub consumers_rss_bytes: u64,
    /// Sum of the Pss of the tensor in the host and all consumers. If the tensor is on a GPU: its size in the host, plus
    /// the GPU memory that the consumers free when all of them drop it.
    pub tensor_pss_bytes: u64,
    /// GPU memory that is in use while all consumers have the tensor, less that before the host allocated it: the tensor
    /// and the CUDA contexts of the consumers. Unset if the tensor is in host memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vram_bytes: Option<u64>,
    /// Change in the Pss of the host and its consumers from one distribution to the next, in bytes: the slope of a
    /// least-squares line.
    pub slope_bytes: f64,
}

/// Values specific to calls between isolated processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CallReport {
    /// Mean of the samples, in nanoseconds.
    pub mean_nanos: f64,
    /// Standard deviation of the samples with the divisor n - 1, in nanoseconds. Unset for a single sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation_nanos: Option<f64>,
    /// Proportional set size of the host and its extension after the warm-up, in bytes. Over a transport, the extension
    /// is the other worker, and its memory is not included. Unset if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_before_bytes: Option<u64>,
    /// Proportional set size of the host and its extension after the measured window, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_after_bytes: Option<u64>,
}

impl Posted {
    /// Number of completed operations, their payload bytes, and the time in which they completed, in nanoseconds, for
    /// computing rates. The values come from `simultaneous` if it is set.
    pub fn timed(&self) -> (u64, u64, u64) {
        match &self.simultaneous {
            Some(window) => (window.operations, window.payload_bytes, window.elapsed_nanos),
            None => (self.operations, self.payload_bytes, self.elapsed_nanos),
        }
    }
}

/// Transfers of one flow in the window in which all flows of the many-to-many pattern are active, or of one direction
/// in the window in which both are. The flow or direction posts continuously from before the window until after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Simultaneous {
    /// Number of transfers that completed in the threads' windows.
    pub operations: u64,
    /// Payload bytes of these transfers.
    pub payload_bytes: u64,
    /// Length of the window, from one completion to another, in nanoseconds. Every thread has its own window. If there
    /// are several threads, this is the mean length for which `payloadBytes / elapsedNanos` equals the sum of the
    /// threads' rates.
    pub elapsed_nanos: u64,
    /// Time from the first post to the start of the first window, in nanoseconds.
    pub lead_nanos: u64,
    /// Time from the end of the last window to the last completion, in nanoseconds.
    pub tail_nanos: u64,
}

/// Round-trip times of 8-byte pings. One ping is in flight at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PingReport {
    /// Round-trip times before the transfers, while the fabric is idle.
    pub idle: Durations,
    /// Round-trip times during the transfers.
    pub loaded: Durations,
}

/// Start times of the transfers or samples in an open loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OpenLoopReport {
    /// Time from the first to the last intended start, in nanoseconds. If there are several threads, this is the
    /// longest of their times.
    pub intended_nanos: u64,
    /// Number of transfers that started late because the window was full, or of samples that started late because the
    /// previous one was in progress.
    pub late: u64,
}

/// Percentiles of raw samples by exclusive interpolation, as computed by `statistics.quantiles` in Python: for n
/// samples, the value at rank (n + 1)p for probability p.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExclusiveQuantiles {
    /// Median in nanoseconds.
    pub p50_nanos: f64,
    /// 95th percentile in nanoseconds: `quantiles(samples, n=20)[18]`.
    pub p95_nanos: f64,
    /// 99th percentile in nanoseconds: `quantiles(samples, n=100)[98]`.
    pub p99_nanos: f64,
}

/// Posting counters of one worker in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PostingCounters {
    /// Number of posted chunks.
    pub posts: u64,
    /// Number of chunks posted by inject calls that the provider accepted.
    pub injected: u64,
    /// Number of chunks that were not injected because they exceed the inject limit of the arm or the provider.
    pub over_limit: u64,
    /// Number of inject calls that the provider rejected.
    pub refused: u64,
    /// Effective inject limit for this operation, in bytes: the smaller of the arm's and the provider's limits.
    /// Unset for an arm without inject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject_limit_bytes: Option<u64>,
    /// Number of posts with FI_MORE.
    pub more: u64,
    /// Number of posts without FI_MORE. Each of them requests a doorbell.
    pub app_doorbells: u64,
    /// Maximum number of posts on one rail in one burst.
    pub posts_per_burst: u64,
    /// Number of posts for which the provider returned EAGAIN.
    pub again: u64,
    /// Number of completions of local posts that were read from the completion queues.
    pub completions: u64,
    /// Number of rails that each transfer uses according to the striping rule.
    pub rails_planned: u64,
    /// Number of rails that carried data.
    pub rails_used: u64,
    /// Number of payload bytes posted on each rail.
    pub bytes_per_rail: Vec<u64>,
    /// Number of chunks posted on each rail.
    pub posts_per_rail: Vec<u64>,
}

impl PostingCounters {
    /// Adds the counters of another thread of the same arm. Counts are summed, except that the smaller inject limit and
    /// the larger values of `posts_per_burst`, `rails_planned` and `rails_used` are kept. Allocates only if `other` has
    /// more rails.
    pub fn merge(&mut self, other: &Self) {
        // The pattern lists every field, so that the compiler reports a new counter that is not merged.
        let Self {
            posts,
            injected,
            over_limit,
            refused,
            inject_limit_bytes,
            more,
            app_doorbells,
            posts_per_burst,
            again,
            completions,
            rails_planned,
            rails_used,
            bytes_per_rail,
            posts_per_rail,
        } = other;
        self.posts += posts;
        self.injected += injected;
        self.over_limit += over_limit;
        self.refused += refused;
        self.inject_limit_bytes = match (self.inject_limit_bytes, *inject_limit_bytes) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.more += more;
        self.app_doorbells += app_doorbells;
        self.posts_per_burst = self.posts_per_burst.max(*posts_per_burst);
        self.again += again;
        self.completions += completions;
        self.rails_planned = self.rails_planned.max(*rails_planned);
        self.rails_used = self.rails_used.max(*rails_used);
        add_elementwise(&mut self.bytes_per_rail, bytes_per_rail);
        add_elementwise(&mut self.posts_per_rail, posts_per_rail);
    }
}

fn add_elementwise(sum: &mut Vec<u64>, other: &[u64]) {
    sum.resize(sum.len().max(other.len()), 0);
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
}

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

/// Result of an integrity check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IntegrityReport {
    /// Number of checked transfers.
    pub transfers: u64,
    /// Number of checked bytes. Every byte of every transfer is checked.
    pub bytes: u64,
    /// Expected CRC32C of all checked bytes, in hexadecimal.
    pub crc32c_expected: String,
    /// Actual CRC32C of all checked bytes, in hexadecimal.
    pub crc32c_found: String,
    /// First mismatching byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_mismatch: Option<Mismatch>,
    /// Number of chunks of striped transfers that were not completely written when the transfer completed.
    pub torn_chunks: u64,
    /// Number of chunks that arrived more than once.
    pub duplicated_chunks: u64,
    /// Log lines of a command's libraries. The runner cannot verify a command's data. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLog>,
}

/// Mismatching byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Mismatch {
    /// Number of the thread that checked the byte.
    #[serde(default)]
    pub thread: u32,
    /// Index of the batch on this thread, starting at 0. Unset for a ping-pong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Index of the transfer on this thread, starting at 0.
    pub transfer: u64,
    /// Offset in the transfer, in bytes.
    pub offset_bytes: u64,
    /// Expected value.
    pub expected: u8,
    /// Actual value.
    pub found: u8,
}

/// Failure that prevented a case, an arm or a leg from being measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CaseFailure {
    /// Category of the failure.
    pub reason: FailureReason,
    /// Human-readable message of at most 4 KiB that suggests a fix.
    pub message: String,
}

/// Category of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum FailureReason {
    /// The assignment cannot be parsed or is inconsistent.
    InvalidAssignment,
    /// The runner was built without support for the transport.
    TransportNotCompiled,
    /// The library is missing, or is not in the variant's directory.
    LibraryNotFound,
    /// The library found no device for the provider.
    NoDevice,
    /// The library returned a different provider, fabric or number of rails than requested.
    ProviderMismatch,
    /// The library rejected an operation that the scenario requires.
    OperationRejected,
    /// Memory of the requested kind cannot be allocated or registered.
    MemoryUnavailable,
    /// A process of the case ran out of memory, or the kernel killed it because its cgroup was out of memory.
    OutOfMemory,
    /// The case was skipped, because it needs more memory than is available on the machine or in the cgroup.
    NotEnoughMemory,
    /// The position of a NIC relative to the memory that it accesses does not satisfy placement.align.
    NotAligned,
    /// The tuning declared by the image does not match the variant.
    VariantMismatch,
    /// A worker did not join the rendezvous in time.
    WorkerMissing,
    /// A connection to the rendezvous was rejected because it did not belong to this attempt.
    UnknownPeerRefused,
    /// The peer cannot be reached over the fabric.
    FabricUnreachable,
    /// The peer process exited unexpectedly.
    PeerLost,
    /// The case exceeded its deadline.
    DeadlineExceeded,
    /// A post failed.
    PostFailed,
    /// A completion reported an error.
    CompletionFailed,
    /// A command cannot be executed, exited with an error, printed too much, or left processes behind.
    CommandFailed,
    /// The output of a command does not have the format and the units that its tool is known to print.
    CommandOutput,
    /// The run was interrupted.
    Interrupted,
    /// Internal error of the instrument.
    Internal,
}
