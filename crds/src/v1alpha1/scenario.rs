//! Scenarios: workloads that are measured at given sizes with one kind of memory.

use std::borrow::Cow;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::{
    Command, LargeArray, Load, MemoryFootprint, Metric, ParameterServing, PingpongFlag, Rpc, SegmentTransfer,
    SmallMessages, SpecWorkload, StreamingDuplex,
};
use crate::units::{Duration, Size};

/// Workload that is measured at one or more message or transfer sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("[has(self.pingPong), has(self.transfer), has(self.largeArray), has(self.smallMessages), has(self.pingpongFlag), has(self.streamingDuplex), has(self.segmentTransfer), has(self.rpc), has(self.memoryFootprint), has(self.parameterServing), has(self.command)].exists_one(given, given)").message("exactly one of pingPong, transfer, largeArray, smallMessages, pingpongFlag, streamingDuplex, segmentTransfer, rpc, memoryFootprint, parameterServing and command must be set"),
    validation = kube::core::Rule::new("!has(self.command) || has(self.primaryMetric)").message("primaryMetric must be set for a command, to ReportedLatency or ReportedBandwidth").field_path(".primaryMetric"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario in results. Must be a DNS label.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 40), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))
    )]
    pub name: String,
    /// Kind of memory of the buffers on both sides. Defaults to Heap. targetMemory can select another kind for the target.
    #[serde(default)]
    pub memory: MemoryKind,
    /// Kind of memory of the target's buffers, if it differs from the initiator's. Cannot be set for rpc,
    /// memoryFootprint, parameterServing and command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_memory: Option<MemoryKind>,
    /// Whether an integrity pass verifies every transferred byte before the measurement. Defaults to true.
    #[serde(default = "default_true")]
    pub integrity: bool,
    /// How a worker waits for completions. By default, the worker chooses based on the number of available CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polling: Option<Polling>,
    /// Metric on which verdicts are based. Defaults to LatencyP99 with load, and otherwise to LatencyP50 for pingPong,
    /// pingpongFlag, rpc and parameterServing, to CompletionRate for smallMessages, to MemoryPerConsumer for
    /// memoryFootprint, and to Throughput for the other workloads. Must be set for command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary_metric: Option<Metric>,
    /// Ping-pong workload, which measures latency. Exactly one workload must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping_pong: Option<PingPong>,
    /// Transfer workload, which measures throughput. Exactly one workload must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
    /// Workload that sends one large message at a time. Exactly one workload must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub large_array: Option<LargeArray>,
    /// Workload that sends small messages in batches. Exactly one workload must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_messages: Option<SmallMessages>,
    /// Workload in which a flag is sent back and forth. Exactly one workload must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pingpong_flag: Option<PingpongFlag>,
    /// Workload that sends chunks in both directions concurrently. Exactly one workload must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming_duplex: Option<StreamingDuplex>,
    /// Workload that transfers batches of requests between segments. Exactly one workload must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_transfer: Option<SegmentTransfer>,
    /// Workload that makes calls between isolated processes. Exactly one workload must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc: Option<Rpc>,
    /// Workload that distributes a tensor to many processes and measures their memory. Exactly one workload must be
    /// set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_footprint: Option<MemoryFootprint>,
    /// Workload in which one trainer publishes parameters to several workers. Exactly one workload must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter_serving: Option<ParameterServing>,
    /// Benchmark command that the image of each variant provides. Exactly one workload must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// Number of operations per thread at each size, instead of the number that a pilot would determine. If set, the
    /// list must contain every size of the scenario, or every rate of its sweep. fabricbench replay copies the numbers
    /// from a finished run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 64)))]
    pub operation_counts: Vec<SizeOperations>,
}

/// Number of operations at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SizeOperations {
    /// Message or transfer size, such as 64, 1Ki or 16M.
    pub size: Size,
    /// Rate of the sweep (load.sweep), in operations per second per thread. Must be set if the scenario has a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub rate: Option<u32>,
    /// Number of measured round trips, or of measured transfers per thread.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: u32,
}

/// Ping-pong workload with one message in flight. Latency is half the round-trip time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("!(has(self.iterations) && has(self.duration))").message("at most one of iterations and duration may be set"),
    validation = kube::core::Rule::new("!(has(self.warmup) && has(self.warmupDuration))").message("at most one of warmup and warmupDuration may be set"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PingPong {
    /// Message sizes, such as 64, 1Ki or 16M.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Operation that sends a message. Defaults to Send.
    #[serde(default)]
    pub operation: PingPongOperation,
    /// Number of measured round trips, or the minimum number if sampling.minWindow is greater than 0. Defaults to 1000
    /// if duration is unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: Option<u32>,
    /// Duration of the measurement, such as 500ms or 10s. Must not be shorter than sampling.minWindow. Cannot be
    /// combined with iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Number of warm-up round trips before the measurement. Defaults to 100 if warmupDuration is unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: Option<u32>,
    /// Duration of the warm-up before the measurement. Cannot be combined with warmup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_duration: Option<Duration>,
}

/// Transfer workload with up to `window` transfers in flight per thread, in one direction or in both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("!(has(self.iterations) && has(self.duration))").message("at most one of iterations and duration may be set"),
    validation = kube::core::Rule::new("!(has(self.warmup) && has(self.warmupDuration))").message("at most one of warmup and warmupDuration may be set"),
    validation = kube::core::Rule::new("self.batch <= self.window").message("batch must not exceed window, because all transfers of a burst are in flight together").field_path(".batch"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transfer {
    /// Transfer sizes, such as 64, 1Ki or 16M.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Operation that each transfer posts. Defaults to Write.
    #[serde(default)]
    pub operation: TransferOperation,
    /// Maximum number of transfers in flight per thread. Defaults to 16.
    #[serde(default = "default_window")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 4096)))]
    pub window: u32,
    /// Number of transfers posted together in one burst. Must not exceed window. Defaults to 1.
    #[serde(default = "default_batch")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 256)))]
    pub batch: u32,
    /// Number of initiator threads. Each thread uses separate endpoints. Defaults to 1.
    #[serde(default = "default_threads")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub threads: u32,
    /// Whether one or both workers of a pair post transfers. Defaults to Unidirectional.
    #[serde(default)]
    pub direction: Direction,
    /// Whether the transfers in flight have separate buffers. Defaults to Separate.
    #[serde(default)]
    pub buffers: TransferBuffers,
    /// When transfers start. By default, a transfer starts as soon as an earlier one has completed. Requires batch 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Number of measured transfers per thread, or the minimum number if sampling.minWindow is greater than 0. Defaults
    /// to 1000 if duration is unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: Option<u32>,
    /// Duration of the measurement, such as 500ms or 10s. Must not be shorter than sampling.minWindow. Cannot be
    /// combined with iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Number of warm-up transfers per thread before the measurement. Defaults to 100 if warmupDuration is unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: Option<u32>,
    /// Duration of the warm-up before the measurement. Cannot be combined with warmup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_duration: Option<Duration>,
}

/// Operation that sends a ping-pong message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum PingPongOperation {
    /// Two-sided send with immediate data (`fi_senddata`, injected: `fi_injectdata`).
    #[default]
    Send,
    /// RMA write with immediate data (`fi_writedata`, injected: `fi_inject_writedata`).
    WriteImmediate,
}

/// Buffers of the transfers in flight on one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum TransferBuffers {
    /// Every transfer in flight has its own source and target buffer, as in applications.
    #[default]
    Separate,
    /// All transfers use the same source and the same target buffer, as in fi_rma_bw and ib_write_bw, so that the data
    /// stays in the cache. The integrity pass has only one transfer in flight.
    Shared,
}

/// Operation that a transfer posts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum TransferOperation {
    /// Two-sided send with immediate data.
    Send,
    /// RMA write. It completes when the data is in the target's memory.
    #[default]
    Write,
    /// RMA read.
    Read,
    /// RMA write with immediate data. It completes when the target has received the immediate data of every chunk.
    WriteImmediate,
}

/// Direction of the transfers between the workers of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Direction {
    /// Only the initiator posts transfers.
    #[default]
    Unidirectional,
    /// Both workers post transfers concurrently.
    Bidirectional,
}

/// Kind of memory of the buffers. fabricbench never falls back to another kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum MemoryKind {
    /// Ordinary memory pages.
    #[default]
    Heap,
    /// 2 MiB huge pages. Their use is verified in the memory map of the process.
    HugePages,
    /// Shared memory mapping.
    SharedMemory,
    /// GPU memory.
    Cuda,
}

/// How a worker waits for completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum Polling {
    /// The worker polls continuously. Requires a dedicated CPU.
    Spin,
    /// The worker yields the CPU after a poll without completions.
    Yield,
    /// The worker sleeps until the library reports a completion.
    Wait,
}

/// Defines [`ScenarioWorkload`] from a list of the fields of [`Scenario`], each with the type of its workload and its name in
/// manifests.
macro_rules! scenario_workloads {
    ($($field:ident: $workload:ident = $name:literal,)*) => {
        /// A scenario's workload.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum ScenarioWorkload<'a> {
            $(#[doc = concat!("`", $name, "`.")] $workload(&'a $workload),)*
        }

        impl Scenario {
            /// The workload; `None` if none is set, which the schema rejects.
            pub fn workload(&self) -> Option<ScenarioWorkload<'_>> {
                None$(.or(self.$field.as_ref().map(ScenarioWorkload::$workload)))*
            }
        }

        impl ScenarioWorkload<'_> {
            /// Name of the field that contains the workload.
            pub fn field(self) -> &'static str {
                match self {
                    $(Self::$workload(_) => $name,)*
                }
            }
        }

        impl<'a> Deref for ScenarioWorkload<'a> {
            type Target = dyn SpecWorkload + 'a;

            fn deref(&self) -> &Self::Target {
                match *self {
                    $(Self::$workload(given) => given,)*
                }
            }
        }
    };
}

scenario_workloads! {
    ping_pong: PingPong = "pingPong",
    transfer: Transfer = "transfer",
    large_array: LargeArray = "largeArray",
    small_messages: SmallMessages = "smallMessages",
    pingpong_flag: PingpongFlag = "pingpongFlag",
    streaming_duplex: StreamingDuplex = "streamingDuplex",
    segment_transfer: SegmentTransfer = "segmentTransfer",
    rpc: Rpc = "rpc",
    memory_footprint: MemoryFootprint = "memoryFootprint",
    parameter_serving: ParameterServing = "parameterServing",
    command: Command = "command",
}

impl SpecWorkload for PingPong {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&self.sizes)
    }

    fn metric_of_closed_loop(&self) -> Metric {
        Metric::LatencyP50
    }
}

impl SpecWorkload for Transfer {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&self.sizes)
    }

    fn load(&self) -> Option<Load> {
        self.load
    }
}

fn default_true() -> bool {
    true
}

fn default_window() -> u32 {
    16
}

fn default_batch() -> u32 {
    1
}

fn default_threads() -> u32 {
    1
}
