//! Status of a run: its conditions, the validity of its results, and its verdicts.
//!
//! All numbers are integers, and field names include the unit. The operator limits the length of every list and string.

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::{ConditionType, ExecutionStatus, Metric, RpcPayload, SweepResult};

/// BenchmarkRunStatus is the observed state of a BenchmarkRun.
// Atomic, because only the operator writes the status, and tracking the ownership of each field would double the size
// of the stored object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema), schemars(extend("x-kubernetes-map-type" = "atomic")))]
#[serde(rename_all = "camelCase")]
pub struct BenchmarkRunStatus {
    /// Generation of the spec that the status was computed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions of the run: Accepted, Suspended, Running, Complete, Failed, and CleanupBlocked if pods are stuck
    /// terminating.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(length(max = 8), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])))]
    pub conditions: Vec<Condition>,
    /// Summary of the conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Progress of the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// SHA-256 hash of the plan, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
    /// Seed of the random measurement order: spec.sampling.seed, or a number derived from metadata.uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Nodes on which the workers ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementStatus>,
    /// Software and hardware environment of the workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentSummary>,
    /// Fabric that carried the data, and how its use was proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<FabricSummary>,
    /// Measured values by scenario, size and arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ArmResult>,
    /// Results of each arm in the load sweeps: the first 32. The records and reports contain all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    pub sweeps: Vec<SweepResult>,
    /// Comparisons of each arm with the baseline, by scenario, size and metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<ComparisonResult>,
    /// Outcome of each expectation in spec.expectations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<ExpectationResult>,
    /// Pairs of nodes whose baseline results deviate most from the median of all pairs. Reported for runs with at least
    /// three pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 16)))]
    pub pairs: Vec<PairResult>,
    /// Deviation of each node from the other nodes. Reported for runs with at least three pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub nodes: Vec<NodeResult>,
    /// Outcome of a finished run. It determines the exit status of `fabricbench report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// One-line summary of the verdicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Highest throughput of any variant, formatted with a unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<String>,
    /// Warnings that affect the interpretation of the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub warnings: Vec<String>,
    /// Number of values that were omitted to limit the size of the status. The records and reports contain these
    /// values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_values: Option<u32>,
    /// Reference to the complete records of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordsReference>,
    /// Controller state that must survive a restart of the operator: attempts and timers. Unset for local runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionStatus>,
}

/// Condition describes one aspect of the current state of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition: Accepted, Suspended, Running, Complete, Failed or CleanupBlocked.
    #[serde(rename = "type")]
    pub type_: String,
    /// Status of the condition: True, False or Unknown.
    pub status: String,
    /// Machine-readable reason for the last transition of the condition.
    pub reason: String,
    /// Human-readable message with details about the last transition.
    pub message: String,
    /// Time at which the status of the condition last changed (RFC 3339).
    pub last_transition_time: String,
    /// Generation of the spec that the condition was computed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// Whether this condition has the type `type_`.
    pub fn has_type(&self, type_: ConditionType) -> bool {
        self.type_ == type_.as_str()
    }

    /// Whether the condition is `True`.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum State {
    /// The run is accepted, but no gang is running.
    Pending,
    /// The workers are running.
    Running,
    /// The user suspended the run.
    Suspended,
    /// Every block has been measured.
    Complete,
    /// The run failed and will not be retried.
    Failed,
}

/// Progress of the measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Number of blocks whose records are complete and verified.
    pub blocks_done: u32,
    /// Number of blocks to measure: all blocks of the plan, except those that were skipped.
    pub blocks_total: u32,
    /// Number of planned blocks that were skipped because all comparisons that need them have ended. Unset unless
    /// sampling.stop is Settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_skipped: Option<u32>,
    /// Percentage of the planned cases that were skipped because their comparisons have ended. Unset unless
    /// sampling.stop is Settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_percent: Option<u32>,
    /// Measured blocks out of all blocks to measure, such as `12/240`.
    pub text: String,
}

/// Nodes on which the workers ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlacementStatus {
    /// Names of the nodes. They are sorted by name for a run in a cluster, where ranks can change between legs, and by
    /// rank for a local run.
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub nodes: Vec<String>,
}

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
    /// Methods by which the workers waited for completions.
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
    /// Payload bytes that the network interfaces had to send in these cases.
    pub payload_bytes: u64,
}

/// Level of proof that the data used the requested fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum FabricProof {
    /// The reported provider or the byte counters of the network interfaces contradict the use of the requested fabric.
    Contradicted,
    /// The library reports the requested fabric, but there is no independent evidence.
    Declared,
    /// Byte counters of the network interfaces account for the payload.
    Verified,
}

/// Optimization that a variant requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Optimization {
    /// Inject calls for small messages.
    Inject,
    /// FI_MORE on all posts of a burst except the last.
    Doorbell,
    /// Fewer rails for mid-size transfers.
    Coalesce,
}

/// Whether an optimization was active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Engagement {
    /// Independent evidence shows that the optimization was active.
    Confirmed,
    /// The optimization was requested, but the provider reports no evidence of its use.
    RequestedOnly,
    /// The provider rejected the optimization, or messages exceeded its limit.
    NotEngaged,
    /// The optimization cannot have an effect, for example with one rail, one post per burst, or device memory.
    NotApplicable,
}

/// Whether an optimization of one arm was active at one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OptimizationResult {
    /// Optimization that the arm requests.
    pub optimization: Optimization,
    /// Whether the optimization was active.
    pub engagement: Engagement,
    /// Explanation of the engagement.
    pub reason: String,
}

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
    /// Number of measured operations per thread in each valid case. Unset if the number differs between cases, as in a
    /// scenario with a duration, or if the value was omitted (see omittedValues).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Whether the arm has at least one valid result.
    pub validity: CaseValidity,
    /// Reason why cases are invalid.
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
    /// Median CPU usage of both workers in the measured window over all rounds, in percent of one CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<u32>,
    /// Mean round-trip time of a ping-pong, in nanoseconds: the median over all rounds. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_round_trip_nanos: Option<u64>,
    /// Throughput of each direction. Unset unless both workers send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directions: Option<DirectionsResult>,
    /// Durations of the flushes that follow the messages of largeArray. Unset for other workloads, and if the library
    /// has no flush.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<FlushResult>,
    /// Round-trip times of the pings of streamingDuplex. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<PingResult>,
    /// Values of the calls of rpc. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallResult>,
    /// Memory of the host and the consumers of memoryFootprint. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<FootprintResult>,
    /// Rates of the flows of the pattern ManyToMany while all of them are active. Unset for other patterns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowsResult>,
    /// Latency of the reads of segmentTransfer with workload Mix. The percentiles above are those of reads and writes
    /// together. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBackResult>,
    /// Median duration of the first batch of segmentTransfer in each case over all rounds, in nanoseconds. Unset for
    /// other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_batch_nanos: Option<u64>,
    /// Staleness of the parameters of parameterServing. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<ServingResult>,
    /// Engagement of each optimization that the arm requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub optimizations: Vec<OptimizationResult>,
    /// Level of proof that the data used the requested fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<FabricProof>,
    /// Whether the provider emulated RMA operations with messages, or copied GPU memory through host memory. Unset if
    /// neither is possible: for other operations on host memory, or with a transport without a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<Answer>,
    /// Protocols that the library used for the operation at this size in round 0, of at most four. Empty if the library
    /// does not report them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<ProtocolResult>,
}

/// Protocol that the library used for the operation of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProtocolResult {
    /// Description of the protocol by the library, such as "zero-copy" or "software emulation".
    pub description: String,
    /// Transports and devices of the protocol, such as "tcp/lo".
    pub lanes: String,
    /// Number of times that all workers started the protocol for this operation. Protocols that split a message are counted
    /// once for each fragment, and some calls for small messages are not counted.
    pub count: u64,
}

/// Rates of the flows of the pattern ManyToMany while all of them are active, in payload bytes per second. The rate of a
/// flow or receiver is its median over all rounds. The rate of all flows together is bytesPerSecond of the result.
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
    /// Rate at the slowest receiver: the sum over its flows.
    pub slowest_receiver_bytes_per_second: u64,
    /// Rate at the fastest receiver.
    pub fastest_receiver_bytes_per_second: u64,
    /// Fairness between the flows in parts per million: the median of Jain's index over all rounds. It is 1,000,000 if all
    /// flows have the same rate, and 1,000,000 divided by the number of flows if one flow has all of it.
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
    /// Throughput from the initiator divided by the throughput from the target, in parts per million: the median over
    /// all rounds. With fair directions, it is 1,000,000.
    pub fairness_ppm: u64,
}

/// Time from the local completion of a message to the completion of the flush that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FlushResult {
    /// Median, in nanoseconds.
    pub p50_nanos: u64,
    /// Maximum, in nanoseconds.
    pub max_nanos: u64,
}

/// Round-trip times of pings of 8 bytes. A percentile is unset if there are too few samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PingResult {
    /// 99th percentile while the fabric is idle, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_p99_nanos: Option<u64>,
    /// 99th percentile beside the messages in both directions, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded_p99_nanos: Option<u64>,
    /// Head-of-line blocking: loadedP99Nanos divided by idleP99Nanos, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocking_ppm: Option<u64>,
}

/// Staleness of the parameters that the workers of parameterServing used, over all rounds. Steps before the first version
/// of a worker are excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ServingResult {
    /// Number of workers of the trainer.
    pub workers: u32,
    /// Mean version lag over all steps, in millionths of a version.
    pub version_lag_mean_ppm: u64,
    /// Median version lag.
    pub version_lag_p50: u64,
    /// 99th percentile of the version lag. Unset if there are too few steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_lag_p99: Option<u64>,
    /// Largest version lag.
    pub version_lag_max: u64,
    /// Mean version lag of the worker with the largest mean, in millionths of a version.
    pub worst_worker_lag_ppm: u64,
    /// Median time lag, in nanoseconds.
    pub time_lag_p50_nanos: u64,
    /// 99th percentile of the time lag, in nanoseconds. Unset if there are too few steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_lag_p99_nanos: Option<u64>,
    /// Largest time lag, in nanoseconds.
    pub time_lag_max_nanos: u64,
    /// Median time from the publication of a version until the trainer has delivered it, in nanoseconds. Unset for mode
    /// Pull.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_p50_nanos: Option<u64>,
    /// Maximum of this time, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_max_nanos: Option<u64>,
    /// Bytes that the trainer delivers per second of this time, at its median. In mode Push, the copies of all workers
    /// count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push_bytes_per_second: Option<u64>,
    /// Median duration of a fetch that returned a newer version, in nanoseconds. Unset except for modes Filesystem and
    /// Pull.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_p50_nanos: Option<u64>,
    /// Mean store lag of the posts, in millionths of a version. Unset if there are no posts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_lag_ppm: Option<u64>,
    /// Mean post lag of the posts, in millionths of a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_lag_ppm: Option<u64>,
    /// Mean staleness as the original benchmark computes it, in millionths of a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_staleness_ppm: Option<u64>,
    /// Number of steps before the first version of a worker.
    pub cold_steps: u64,
    /// Longest time until the first version of a worker, in nanoseconds.
    pub cold_nanos: u64,
    /// Number of torn versions, which were detected and not used.
    pub torn: u64,
    /// Number of datagrams sent to each worker, summed over the workers. Unset except for mode Multicast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams_sent: Option<u64>,
    /// Number of these datagrams that did not arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams_lost: Option<u64>,
    /// Largest maximum error of times between the clocks of both sides, in nanoseconds: 0 with the same clock.
    pub clock_bound_nanos: u64,
}

/// Latency of reads of memory that was written before, from post to completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReadBackResult {
    /// Median, in nanoseconds.
    pub p50_nanos: u64,
    /// 99th percentile, in nanoseconds. Unset if there are too few samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_nanos: Option<u64>,
}

/// Calls of one arm with one payload, over all rounds and pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CallResult {
    /// Payload of the calls.
    pub payload: RpcPayload,
    /// Section of the report that contains the calls.
    pub section: CallSection,
    /// Cause of the first failure, or reason why the calls were skipped. Unset for successful calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CallCause>,
    /// Number of calls of a sample.
    pub hops: u32,
    /// Mean of all samples, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_nanos: Option<u64>,
    /// Standard deviation of all samples, in nanoseconds. Unset for a single sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation_nanos: Option<u64>,
    /// Mean divided by the number of calls of a sample, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop_nanos: Option<u64>,
    /// Largest increase of the proportional set size of host and extension during a case, in bytes. Unset if it was not
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_growth_bytes: Option<u64>,
}

/// Memory of a host and its consumers, in bytes: medians over all rounds. Values are unset without a valid case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FootprintResult {
    /// Section of the report that contains the arm.
    pub section: CallSection,
    /// Cause of the first failure, or reason why the cases were skipped. Unset for a successful arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CallCause>,
    /// Number of consumers.
    pub consumers: u32,
    /// Proportional set size (Pss) of the host before it allocates the tensor and starts the consumers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_bytes: Option<u64>,
    /// Pss of a consumer before it receives the tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_bytes: Option<u64>,
    /// Pss of a consumer that has the tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_bytes: Option<u64>,
    /// Resident set size of a consumer that has the tensor, in which a shared tensor counts fully.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_rss_bytes: Option<u64>,
    /// Pss of the tensor in the host and all consumers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor_bytes: Option<u64>,
    /// Memory saved compared with a copy in the host and in each consumer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_bytes: Option<u64>,
    /// savedBytes divided by these copies, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_ppm: Option<u64>,
    /// Change of the Pss of host and consumers from one distribution to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope_bytes: Option<i64>,
}

/// Section of a report of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum CallSection {
    /// Every case was measured and is valid.
    Successful,
    /// A case failed or is invalid.
    Failed,
    /// No case ran, because the machine does not have what the calls need.
    Skipped,
}

/// Cause why calls failed or were skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum CallCause {
    /// A process ran out of memory.
    OutOfMemory,
    /// A case exceeded its time limit.
    Timeout,
    /// A process exited.
    Died,
    /// A case failed for another reason.
    Error,
    /// A case was measured, but its results are invalid.
    Invalid,
    /// The machine has no GPU.
    NoGpu,
    /// The machine or the cgroup has less memory available than the calls need.
    NotEnoughMemory,
}

/// Verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Verdict {
    /// The whole confidence interval lies beyond the margin, in the direction of an improvement.
    Improved,
    /// The whole confidence interval lies within the margin.
    NoChange,
    /// The whole confidence interval lies beyond the margin, in the direction of a regression.
    Regressed,
    /// The measurements do not support any other verdict.
    Inconclusive,
}

/// Reason why the verdict on a variant is withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum WithheldReason {
    /// No round contains valid cases of both the variant and the baseline.
    NotMeasured,
    /// The data of a case did not use the requested fabric.
    FabricContradicted,
    /// The legs of the variant and the baseline ran on different nodes or devices.
    DifferentDevices,
    /// A control arm or a negative control shows a change.
    ControlViolated,
    /// A requested optimization was not active.
    NotEngaged,
    /// No optimization that the variant requests applies at this size.
    NotApplicable,
}

/// Comparison of one arm with the baseline at one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ComparisonResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Name of the variant or control arm.
    pub arm: String,
    /// Compared metric.
    pub metric: Metric,
    /// Whether the verdict is based on this metric.
    pub primary: bool,
    /// Whether the arms are identical at this size, so that any measured effect is noise.
    pub negative_control: bool,
    /// Number of rounds in which the cases of both arms are valid.
    pub rounds: u32,
    /// Change relative to the baseline, in parts per million. A positive value is an increase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_ppm: Option<i64>,
    /// Lower bound of the simultaneous confidence interval, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_ppm: Option<i64>,
    /// Upper bound of the simultaneous confidence interval, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_ppm: Option<i64>,
    /// Minimum detectable effect, in parts per million: the smallest change that this number of rounds detects with a
    /// statistical power of 80 percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_detectable_ppm: Option<u64>,
    /// Verdict of the comparison. Unset if the verdict is withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Reason why the verdict is withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<WithheldReason>,
    /// Explanation of a withheld or qualified verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Estimated number of rounds required to resolve an inconclusive verdict. Unset if it cannot be estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_to_settle: Option<u32>,
    /// Details of the early end of the comparison. Unset if the comparison did not end before the last round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<ComparisonEnd>,
}

/// Details of the early end of a comparison, at an analysis before the last round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ComparisonEnd {
    /// Number of rounds included in the analysis that ended the comparison.
    pub rounds: u32,
    /// Reason why the comparison ended.
    pub reason: EndReason,
}

/// Reason why a comparison ended before the last round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum EndReason {
    /// The verdict and all expectations are decided.
    Settled,
    /// For every effect within the confidence interval, the probability that a later analysis decides the comparison is
    /// less than 10 percent.
    Futile,
    /// The comparison cannot have a verdict, for example because a requested optimization was not active.
    NoVerdict,
}

/// Outcome of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum ExpectationOutcome {
    /// The whole confidence interval is at or above the expected minimum at every size.
    Met,
    /// The whole confidence interval is below the expected minimum at one or more sizes.
    NotMet,
    /// The measurements do not show whether the expectation is met.
    Inconclusive,
}

/// Result of one expectation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExpectationResult {
    /// Index of the expectation in spec.expectations.
    pub index: u32,
    /// Expectation as a human-readable string.
    pub text: String,
    /// Outcome of the expectation.
    pub outcome: ExpectationOutcome,
    /// Explanation of the outcome, including the sizes that determine it.
    pub reason: String,
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
    /// Difference between the median of the pair and the median of all pairs, in parts per million. Positive if the
    /// median of the pair is higher.
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

/// Outcome of a finished run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Outcome {
    /// The run is complete, no expectation was missed, and no variant regressed. `fabricbench report` exits with status
    /// 0.
    Passed,
    /// The run is complete, and an expectation was missed or a regression was found. `fabricbench report` exits with
    /// status 1.
    Missed,
    /// The run is complete, but a control shows a change at one or more sizes, so the verdicts at these sizes are
    /// withheld. Repeat the run. `fabricbench report` exits with status 3.
    Suspect,
    /// The run is not complete, or a requested result is not valid. `fabricbench report` exits with status 3.
    Untrusted,
}

/// Reference to the complete records of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecordsReference {
    /// Name of the file or object that contains the records.
    pub reference: String,
    /// SHA-256 hash of the file, or digest of the record chain in the ConfigMaps, in hexadecimal.
    pub sha256: String,
}
