//! Scenarios: workloads that are measured at given sizes with one kind of memory.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::{
    Command, LargeArray, MemoryFootprint, Metric, ParameterServing, PingPong, PingpongFlag, Rpc,
    SegmentTransfer, SmallMessages, SpecWorkload, StreamingDuplex, Transfer,
};
use crate::units::Size;

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

fn default_true() -> bool {
    true
}
