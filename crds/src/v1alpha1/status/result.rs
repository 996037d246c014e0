//! Results of one arm at one size.

use serde::{Deserialize, Serialize};

use super::call::{CallResult, FootprintResult};
use super::environment::FabricProof;
use super::optimization::OptimizationResult;
use crate::v1alpha1::Answer;
use crate::v1alpha1::StepTimes;

/// Whether the results of a case are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum CaseValidity {
    /// The results are valid.
    Valid,
    /// The results are invalid. The field `reason` explains why.
    Invalid,
}

/// Results of one arm at one size over all rounds and pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ArmResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Name of the variant or control arm.
    pub arm: String,
    /// Number of rounds with a valid case.
    pub valid_rounds: u32,
    /// Number of measured operations per thread in each valid case. Unset if the number differs between cases, for
    /// example because the scenario has a duration, or if the value was omitted (see omittedValues).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Whether the arm has at least one valid result.
    pub validity: CaseValidity,
    /// Reason that cases are invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Median latency, in nanoseconds: one-way for ping-pong, from call to reply for calls, from post to completion for
    /// transfers, and from the publication of a version to its first use by a worker for parameterServing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_nanos: Option<u64>,
    /// 95th percentile of latency, in nanoseconds. Percentiles are unset if there are so few samples that they would
    /// equal the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_nanos: Option<u64>,
    /// 99th percentile of latency, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_nanos: Option<u64>,
    /// 99.9th percentile of latency, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_nanos: Option<u64>,
    /// Minimum latency, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_nanos: Option<u64>,
    /// Maximum latency, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_nanos: Option<u64>,
    /// Median payload bytes per second over all rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
    /// Median completed operations per second over all rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions_per_second: Option<u64>,
    /// Median CPU time of both workers per GiB of payload over all rounds, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_nanos_per_gib: Option<u64>,
    /// Median CPU usage of both workers in the measured window over all rounds, as a percentage of one CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<u32>,
    /// Mean round-trip time of a ping-pong, in nanoseconds. The value is the median over all rounds. Unset for other
    /// workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_round_trip_nanos: Option<u64>,
    /// Throughput of each direction. Unset unless both workers send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directions: Option<DirectionsResult>,
    /// Durations of the flushes that follow largeArray messages. Unset for other workloads, and if the library has no
    /// flush operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<FlushResult>,
    /// Round-trip times of the streamingDuplex pings. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<PingResult>,
    /// Values specific to calls (rpc). Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallResult>,
    /// Memory use of the memoryFootprint host and consumers. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<FootprintResult>,
    /// Latency that a command reports, in nanoseconds. The value is the median over all rounds. Unset for other
    /// workloads, and if the tool reports no latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_latency_nanos: Option<u64>,
    /// Bandwidth that a command reports, in bytes per second. The value is the median over all rounds. Unset for other
    /// workloads, and if the tool reports no bandwidth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_bytes_per_second: Option<u64>,
    /// Flow rates of the ManyToMany pattern while all flows are active. Unset for other patterns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowsResult>,
    /// Latency of the reads of segmentTransfer if its workload is Mix. The latency percentiles of the arm include both
    /// reads and writes. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBackResult>,
    /// Duration of the first batch of a case, in nanoseconds. The value is the median over all rounds. Set only for
    /// segmentTransfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_batch_nanos: Option<u64>,
    /// Staleness of parameterServing parameters. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<ServingResult>,
    /// Engagement of each optimization that the arm requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub optimizations: Vec<OptimizationResult>,
    /// Level of proof that the data used the requested fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<FabricProof>,
    /// Other work on the machines and interfaces in the valid cases. Unset if nothing is known about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<DisturbanceResult>,
    /// Whether the provider emulated RMA operations with messages, or copied GPU memory through host memory. Unset if
    /// neither is possible: for other operations on host memory, and for transports without a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<Answer>,
    /// Up to four protocols that the library used for the operation at this size in round 0. Empty if the library does
    /// not report protocols.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<ProtocolResult>,
}

/// Other work on the machines and interfaces. Each value is unset if it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DisturbanceResult {
    /// Time that a thread of the instrument waited for a CPU, as a fraction of the measured time in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_queue_ppm: Option<u64>,
    /// CPU time of other processes, as a fraction of the time of the worker's CPUs in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_cpu_ppm: Option<u64>,
    /// Bytes of other traffic on the network interfaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_bytes: Option<u64>,
}

/// Protocol that the library used for a scenario's operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProtocolResult {
    /// Description of the protocol, as reported by the library, such as "zero-copy" or "software emulation".
    pub description: String,
    /// Transports and devices of the protocol, such as "tcp/lo".
    pub lanes: String,
    /// Number of times the protocol was started for this operation, summed over the workers. Protocols that split a
    /// message are counted once per fragment, and some calls for small messages are not counted.
    pub count: u64,
    /// Time spent in each step of the transfers. These times are evidence, not results. Unset for libraries with one
    /// call per transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepTimes>,
}

/// Flow rates of the ManyToMany pattern while all flows are active, in payload bytes per second. The rate of a flow or
/// receiver is its median over all rounds. The total rate of all flows is the bytesPerSecond field of the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FlowsResult {
    /// Rate of the slowest flow.
    pub slowest_bytes_per_second: u64,
    /// Median rate of the flows.
    pub median_bytes_per_second: u64,
    /// Rate of the fastest flow.
    pub fastest_bytes_per_second: u64,
    /// Rate of the slowest receiver, which is the sum over its flows.
    pub slowest_receiver_bytes_per_second: u64,
    /// Rate of the fastest receiver.
    pub fastest_receiver_bytes_per_second: u64,
    /// Fairness of the flows (Jain's index), in parts per million. The value is the median over all rounds. It is
    /// 1,000,000 if all flows have the same rate, and 1,000,000 divided by the number of flows if a single flow
    /// accounts for the entire rate.
    pub fairness_ppm: u64,
}

/// Throughput of the two directions between the workers of a pair, each timed by its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DirectionsResult {
    /// Median payload bytes per second from the initiator to the target over all rounds.
    pub initiator_bytes_per_second: u64,
    /// Median payload bytes per second from the target to the initiator over all rounds.
    pub target_bytes_per_second: u64,
    /// The smaller of the two rates divided by the larger, in parts per million. It is 1,000,000 if both directions are
    /// equally fast. Unset in a status that an earlier release wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance_ppm: Option<u64>,
}

/// Time from the local completion of a message to the completion of the flush that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FlushResult {
    /// Median duration, in nanoseconds.
    pub p50_nanos: u64,
    /// Maximum duration, in nanoseconds.
    pub max_nanos: u64,
}

/// Round-trip times of 8-byte pings. A percentile is unset if there are too few samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PingResult {
    /// 99th percentile while the fabric is idle, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_p99_nanos: Option<u64>,
    /// 99th percentile while messages are in flight in both directions, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded_p99_nanos: Option<u64>,
    /// Head-of-line blocking: loadedP99Nanos divided by idleP99Nanos, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocking_ppm: Option<u64>,
}

/// Staleness of the parameters that the workers of parameterServing used, over all rounds. The steps that a worker ran
/// before it received its first version are excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ServingResult {
    /// Number of workers of the trainer.
    pub workers: u32,
    /// Number of workers that had no version at any step of at least one valid case. The lags exclude these workers in
    /// these cases.
    #[serde(default)]
    pub workers_without_version: u32,
    /// Mean version lag over all steps, in millionths of a version. Unset if no worker received a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_lag_mean_ppm: Option<u64>,
    /// Median version lag. Unset if no worker received a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_lag_p50: Option<u64>,
    /// 99th percentile of the version lag. Unset if there are too few steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_lag_p99: Option<u64>,
    /// Largest version lag. Unset if no worker received a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_lag_max: Option<u64>,
    /// Mean version lag of the worker with the largest mean, in millionths of a version. Unset if no worker received a
    /// version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_worker_lag_ppm: Option<u64>,
    /// Median time lag, in nanoseconds. Unset if no worker received a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_lag_p50_nanos: Option<u64>,
    /// 99th percentile of the time lag, in nanoseconds. Unset if there are too few steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_lag_p99_nanos: Option<u64>,
    /// Largest time lag, in nanoseconds. Unset if no worker received a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_lag_max_nanos: Option<u64>,
    /// Number of versions that the trainer published, across all rounds.
    #[serde(default)]
    pub published: u64,
    /// Number of published versions that the trainer did not deliver to all workers, because a newer version replaced
    /// them or the case ended. The push times exclude them. Unset in Pull mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_not_delivered_to_all: Option<u64>,
    /// Median time from the publication of a version to its delivery to all workers, in nanoseconds. Versions that were
    /// not delivered to all workers are excluded. Unset in Pull mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_p50_nanos: Option<u64>,
    /// Maximum time from the publication of a version to its delivery to all workers, in nanoseconds. Unset in Pull
    /// mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_max_nanos: Option<u64>,
    /// Bytes delivered divided by the median delivery time, per second. In Push mode, the copies for all workers are
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_bytes_per_second: Option<u64>,
    /// Median duration of a fetch that returned a newer version, in nanoseconds. Set only in Filesystem and Pull
    /// modes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_p50_nanos: Option<u64>,
    /// Mean store lag, in millionths of a version. Unset if there are no posts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_lag_ppm: Option<u64>,
    /// Mean post lag, in millionths of a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_lag_ppm: Option<u64>,
    /// Mean staleness of the posts as the original benchmark computes it, in millionths of a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_staleness_ppm: Option<u64>,
    /// Number of steps that workers ran before they received their first version.
    pub cold_steps: u64,
    /// Longest time until a worker received its first version, in nanoseconds.
    pub cold_nanos: u64,
    /// Number of torn versions, which contain bytes of several versions. They were detected and not used.
    pub torn: u64,
    /// Number of datagrams sent to each worker, summed over the workers. Set only in Multicast mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams_sent: Option<u64>,
    /// Number of datagrams that did not arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams_lost: Option<u64>,
    /// Largest error bound of times measured across the two clocks, in nanoseconds; 0 if both sides use the same clock.
    pub clock_bound_nanos: u64,
}

/// Latency of reads of previously written memory, from post to completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReadBackResult {
    /// Median latency, in nanoseconds.
    pub p50_nanos: u64,
    /// 99th percentile of latency, in nanoseconds. Unset if there are too few samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_nanos: Option<u64>,
}
