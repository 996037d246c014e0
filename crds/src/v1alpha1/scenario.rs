//! What is measured: ping-pong latency or transfer throughput, at which sizes, in which memory.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::{Size, Span};

/// One measurement at several sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("has(self.pingPong) != has(self.transfer)").message("exactly one of pingPong and transfer"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Name in results; a DNS label.
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 40), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))
    )]
    pub name: String,
    /// Memory the bytes leave from and arrive in.
    #[serde(default)]
    pub memory: MemoryKind,
    /// Whether an integrity pass checks every byte once before the measuring.
    #[serde(default = "yes")]
    pub integrity: bool,
    /// How a side waits for completions; chosen from the processors there are where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polling: Option<Polling>,
    /// The metric that verdicts are read off: `LatencyP50` for ping-pong and `Throughput` for transfer where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary_metric: Option<Metric>,
    /// One message there and back again, one at a time: latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping_pong: Option<PingPong>,
    /// Many messages in flight: throughput.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
}

/// One message there and back again, one at a time. Latency is half a round trip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("!(has(self.iterations) && has(self.duration))").message("at most one of iterations and duration"),
    validation = kube::core::Rule::new("!(has(self.warmup) && has(self.warmupDuration))").message("at most one of warmup and warmupDuration"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PingPong {
    /// Message sizes.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// How a message is sent.
    #[serde(default)]
    pub operation: PingPongOperation,
    /// Measured round trips; 1000 where neither this nor `duration` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: Option<u32>,
    /// Measure for this long instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// Round trips before the measuring; 100 where neither this nor `warmupDuration` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: Option<u32>,
    /// Warm up for this long instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_duration: Option<Span>,
}

/// Many messages in flight, from the initiator to the target or both ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("!(has(self.iterations) && has(self.duration))").message("at most one of iterations and duration"),
    validation = kube::core::Rule::new("!(has(self.warmup) && has(self.warmupDuration))").message("at most one of warmup and warmupDuration"),
    validation = kube::core::Rule::new("self.batch <= self.window").message("batch must not be above window: a burst has to fit into what may be in flight").field_path(".batch"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transfer {
    /// Transfer sizes.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// What is posted.
    #[serde(default)]
    pub operation: TransferOperation,
    /// Most transfers in flight for each thread.
    #[serde(default = "default_window")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 4096)))]
    pub window: u32,
    /// Transfers posted together, as one burst.
    #[serde(default = "default_batch")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 256)))]
    pub batch: u32,
    /// Initiator threads, each with endpoints of its own.
    #[serde(default = "one_thread")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub threads: u32,
    /// Whether one side posts, or both at the same time.
    #[serde(default)]
    pub direction: Direction,
    /// Measured transfers of each thread; 1000 where neither this nor `duration` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: Option<u32>,
    /// Measure for this long instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// Transfers before the measuring; 100 where neither this nor `warmupDuration` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: Option<u32>,
    /// Warm up for this long instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_duration: Option<Span>,
}

/// How a ping-pong message is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum PingPongOperation {
    /// Two-sided send with immediate data (`fi_senddata`, injected: `fi_injectdata`).
    #[default]
    Send,
    /// RMA write with immediate data (`fi_writedata`, injected: `fi_inject_writedata`).
    WriteImmediate,
}

/// What a transfer posts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum TransferOperation {
    /// Two-sided send with immediate data.
    Send,
    /// RMA write; complete when the data is in the target's memory.
    #[default]
    Write,
    /// RMA read.
    Read,
    /// RMA write with immediate data; complete when the target has seen every chunk's immediate.
    WriteImmediate,
}

/// Which sides post.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Direction {
    /// The initiator posts, the target is addressed.
    #[default]
    Unidirectional,
    /// Both sides post at the same time.
    Bidirectional,
}

/// Memory the bytes leave from and arrive in. None is ever substituted for another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum MemoryKind {
    /// Ordinary pages.
    #[default]
    Heap,
    /// 2 MiB huge pages, verified in the process's own map.
    HugePages,
    /// A shared mapping.
    SharedMemory,
    /// GPU memory.
    Cuda,
}

/// How a side waits for completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Polling {
    /// Polls without a pause; needs a processor of its own.
    Spin,
    /// Gives the processor up after a poll that found nothing.
    Yield,
    /// Sleeps until the library wakes it.
    Wait,
}

/// What a comparison is made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Metric {
    /// Median latency of one operation; lower is better.
    LatencyP50,
    /// 95th percentile of latency; lower is better.
    LatencyP95,
    /// 99th percentile of latency; lower is better.
    LatencyP99,
    /// 99.9th percentile of latency; lower is better.
    #[serde(rename = "LatencyP99_9")]
    LatencyP999,
    /// Payload bytes a second; higher is better.
    Throughput,
    /// Completed operations a second; higher is better.
    CompletionRate,
    /// CPU seconds of both sides for a GiB of payload; lower is better.
    CpuSecondsPerGib,
}

impl fmt::Display for Metric {
    /// The name that manifests and records write.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Scenario {
    /// The sizes, as written.
    pub fn sizes(&self) -> &[Size] {
        match (&self.ping_pong, &self.transfer) {
            (Some(ping_pong), _) => &ping_pong.sizes,
            (None, Some(transfer)) => &transfer.sizes,
            (None, None) => &[],
        }
    }
}

impl Metric {
    /// Whether a larger value is the better one.
    pub fn higher_is_better(self) -> bool {
        matches!(self, Self::Throughput | Self::CompletionRate)
    }
}

fn yes() -> bool {
    true
}

fn default_window() -> u32 {
    16
}

fn default_batch() -> u32 {
    1
}

fn one_thread() -> u32 {
    1
}
