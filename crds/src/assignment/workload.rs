//! Scenario workloads.

use serde::{Deserialize, Serialize};

use super::{CommandWorkload, Delivery, ServingWorkload};
use crate::v1alpha1::{
    Direction, MemoryKind, OpenLoop, PingPongOperation, RpcChannel, RpcPattern, TransferBuffers,
    TransferOperation,
};

/// Workload of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Workload {
    /// Ping-pong with one message in flight.
    PingPong(PingPongWorkload),
    /// Transfers with many messages in flight.
    Transfer(TransferWorkload),
    /// Calls between isolated processes.
    Rpc(RpcWorkload),
    /// Distribution of a tensor to processes whose memory is measured.
    MemoryFootprint(FootprintWorkload),
    /// One trainer that publishes parameters to several workers.
    ParameterServing(ServingWorkload),
    /// Runs of a benchmark command.
    Command(CommandWorkload),
}

/// Ping-pong workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PingPongWorkload {
    /// Operation that sends a message.
    pub operation: PingPongOperation,
    /// Number of measured round trips, or duration of the measurement.
    pub measured: Extent,
    /// Number of warm-up round trips, or duration of the warm-up.
    pub warmup: Extent,
}

/// Transfer workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransferWorkload {
    /// Operation that each transfer posts.
    pub operation: TransferOperation,
    /// Maximum number of transfers in flight per thread.
    pub window: u32,
    /// Number of transfers posted together in one burst.
    pub batch: u32,
    /// Number of initiator threads.
    pub threads: u32,
    /// Direction of the transfers between the workers of a pair.
    pub direction: Direction,
    /// Whether the transfers in flight have separate buffers.
    pub buffers: TransferBuffers,
    /// Intended start times of the measured transfers; unset for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// Whether every transfer is followed by a flush of the endpoint, which is part of its sample, if the library has
    /// flushes. Requires a window of 1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush: bool,
    /// Whether the initiator sends pings before its transfers, while the fabric is idle, and during them. Requires a
    /// single thread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ping: bool,
    /// Whether every burst of writes is followed by a burst of reads of the memory that it has written. Requires writes
    /// in one direction in a closed loop, and a window that equals the batch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_back: bool,
    /// Whether the threads are distributed over the NUMA nodes, each using the CPUs and the memory of its node, and
    /// every transfer in flight has separate memory, without a limit on the total size. The first burst of the warm-up
    /// is timed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub segments: bool,
    /// Kind of memory of the buffers of the last `threads / 2` threads on both sides. If unset, all threads use the
    /// scenario's memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_memory: Option<MemoryKind>,
    /// Number of measured transfers per thread, or duration of the measurement.
    pub measured: Extent,
    /// Number of warm-up transfers per thread, or duration of the warm-up.
    pub warmup: Extent,
}

impl TransferWorkload {
    /// Creates a workload in which one thread posts transfers one by one in one direction and in a closed loop, without
    /// warm-up.
    pub fn new(operation: TransferOperation, window: u32, measured: Extent) -> Self {
        Self {
            operation,
            window,
            batch: 1,
            threads: 1,
            direction: Direction::Unidirectional,
            buffers: TransferBuffers::Separate,
            open_loop: None,
            flush: false,
            ping: false,
            read_back: false,
            segments: false,
            second_memory: None,
            measured,
            warmup: Extent::Iterations(0),
        }
    }
}

/// Calls between isolated processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RpcWorkload {
    /// Sequence of calls that make up a sample.
    pub pattern: RpcPattern,
    /// Number of calls in a sample, each nested in the previous one. The initiator makes the first, and the processes
    /// alternate.
    pub hops: u32,
    /// Largest payload that is sent over a transport, in bytes; 0 if no arm calls over a transport.
    pub message_bytes: u64,
    /// CUDA device number of the GPU that holds the tensors and arrays of arms that do not call over a transport; unset if
    /// they are in host memory. Integers and strings are always in host memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<u32>,
    /// Maximum duration of a case, in seconds.
    pub timeout_seconds: u32,
    /// Intended start times of the samples; `None` if a sample starts as soon as the previous one has completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// Number of measured samples.
    pub measured: Extent,
    /// Number of warm-up samples.
    pub warmup: Extent,
}

/// Distribution of a tensor to processes whose memory is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FootprintWorkload {
    /// Number of consumers.
    pub consumers: u32,
    /// Number of measured distributions to all consumers. One warm-up distribution precedes them.
    pub distributions: u32,
    /// CUDA device number of the GPU that holds the tensor; unset if it is in host memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<u32>,
    /// Maximum duration of a case, in seconds.
    pub timeout_seconds: u32,
    /// Number of measured operations: one for each consumer and distribution.
    pub measured: Extent,
}

/// Amount of work: a number of operations or a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Extent {
    /// Number of operations.
    Iterations(u32),
    /// Duration in nanoseconds.
    DurationNanos(u64),
    /// As many operations as it takes to fill the measured window. [`pilot`] cases determine the number before the
    /// first round; if all of them fail, the minimum number is used.
    #[serde(rename_all = "camelCase")]
    FillWindow {
        /// Minimum number of operations.
        min_iterations: u32,
        /// Minimum length of the window, in nanoseconds.
        min_window_nanos: u64,
    },
}

/// Number of operations that every arm performs in one scenario at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationCount {
    /// Index of the scenario.
    pub scenario: u32,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Number of measured operations per thread.
    pub iterations: u32,
}

impl Workload {
    /// Whether both workers of a pair post operations.
    pub fn is_bidirectional(&self) -> bool {
        matches!(self, Self::Transfer(transfer) if transfer.direction == Direction::Bidirectional)
    }

    /// Whether every burst of writes is followed by a burst of reads of the same memory.
    pub fn reads_back(&self) -> bool {
        matches!(self, Self::Transfer(transfer) if transfer.read_back)
    }

    /// Intended start times of the operations; `None` for a closed loop.
    pub fn open_loop(&self) -> Option<OpenLoop> {
        match self {
            Self::Transfer(transfer) => transfer.open_loop,
            Self::Rpc(rpc) => rpc.open_loop,
            Self::PingPong(_) | Self::MemoryFootprint(_) | Self::ParameterServing(_) | Self::Command(_) => {
                None
            }
        }
    }

    /// Sets the intended start times of a workload that can be an open loop.
    pub fn set_open_loop(&mut self, open_loop: OpenLoop) {
        match self {
            Self::Transfer(transfer) => transfer.open_loop = Some(open_loop),
            Self::Rpc(rpc) => rpc.open_loop = Some(open_loop),
            Self::PingPong(_) | Self::MemoryFootprint(_) | Self::ParameterServing(_) | Self::Command(_) => {}
        }
    }

    /// What an open loop starts, in the plural.
    pub fn started(&self) -> &'static str {
        match self {
            Self::Rpc(_) => "samples",
            _ => "transfers",
        }
    }

    /// Whether the cases can start processes, which the measuring process watches from further threads. Calls start none
    /// in an arm that calls over its transport.
    pub fn starts_processes(&self) -> bool {
        self.uses_channels() || self.command().is_some()
    }

    /// Whether each thread uses one NUMA node, and every transfer in flight has separate memory.
    pub fn has_segments(&self) -> bool {
        matches!(self, Self::Transfer(transfer) if transfer.segments)
    }

    /// Kind of memory of the last threads of a pair, and the number of the first of them; `None` if all threads use the
    /// scenario's memory.
    pub fn second_memory(&self) -> Option<(MemoryKind, u32)> {
        match self {
            Self::Transfer(transfer) => {
                let first = transfer.threads.div_ceil(2);
                transfer.second_memory.map(|kind| (kind, first))
            }
            Self::PingPong(_)
            | Self::Rpc(_)
            | Self::MemoryFootprint(_)
            | Self::Command(_)
            | Self::ParameterServing(_) => None,
        }
    }

    /// Number of initiator threads. In parameter serving, each worker has one.
    pub fn threads(&self) -> u32 {
        match self {
            Self::PingPong(_) | Self::Rpc(_) | Self::MemoryFootprint(_) | Self::Command(_) => 1,
            Self::Transfer(transfer) => transfer.threads,
            Self::ParameterServing(serving) => serving.workers,
        }
    }

    /// Number of threads of a pair that post operations: those of the initiator, plus those of the target if both
    /// workers post.
    pub fn posters(&self) -> u32 {
        self.threads()
            .saturating_mul(if self.is_bidirectional() { 2 } else { 1 })
    }

    /// Whether an arm's channel determines how it passes the payload.
    pub fn uses_channels(&self) -> bool {
        matches!(self, Self::Rpc(_) | Self::MemoryFootprint(_))
    }

    /// CUDA device number of the GPU that holds the payload of arms that do not use their transport; `None` if it is in
    /// host memory.
    pub fn gpu(&self) -> Option<u32> {
        match self {
            Self::Rpc(rpc) => rpc.gpu,
            Self::MemoryFootprint(footprint) => footprint.gpu,
            Self::PingPong(_) | Self::Transfer(_) | Self::ParameterServing(_) | Self::Command(_) => None,
        }
    }

    /// Whether the payload of an arm with `channel` stays on the initiator's machine and does not use the transport.
    pub fn is_off_fabric(&self, channel: RpcChannel) -> bool {
        match self {
            Self::Rpc(_) => !channel.is_transport(),
            Self::MemoryFootprint(_) => true,
            // A command transfers its data without the transport. Counters and log lines show whether the data used the
            // fabric.
            Self::Command(_) => false,
            Self::PingPong(_) | Self::Transfer(_) | Self::ParameterServing(_) => false,
        }
    }

    /// Whether the timed operations of an arm with `channel` may use the library of its transport. If they do not,
    /// settings of that library cannot change the result. A command may load any library.
    pub fn uses_library(&self, channel: RpcChannel) -> bool {
        match self {
            Self::Rpc(_) => channel.is_transport(),
            Self::MemoryFootprint(_) => false,
            Self::ParameterServing(serving) => match &serving.delivery {
                Delivery::Push | Delivery::Pull => true,
                Delivery::Filesystem { .. } | Delivery::Multicast(_) => false,
            },
            Self::PingPong(_) | Self::Transfer(_) | Self::Command(_) => true,
        }
    }

    /// Whether an operation of an arm with `channel` moves the bytes of a payload of `size_bytes` bytes. Local calls
    /// and shared memory pass the payload by reference, so their time does not include a transfer of its bytes.
    pub fn moves_payload(&self, channel: RpcChannel, size_bytes: u64) -> bool {
        match self {
            Self::Rpc(_) | Self::MemoryFootprint(_) => !matches!(
                channel.for_payload(size_bytes),
                RpcChannel::Local | RpcChannel::SharedMemory
            ),
            Self::PingPong(_) | Self::Transfer(_) | Self::ParameterServing(_) | Self::Command(_) => true,
        }
    }

    /// Number of measured operations, or duration of the measurement.
    pub fn measured(&self) -> Extent {
        match self {
            Self::PingPong(work) => work.measured,
            Self::Transfer(work) => work.measured,
            Self::Rpc(work) => work.measured,
            Self::MemoryFootprint(work) => work.measured,
            Self::ParameterServing(work) => Extent::DurationNanos(work.max_time_nanos),
            Self::Command(_) => Extent::Iterations(1),
        }
    }

    /// Number of warm-up operations, or duration of the warm-up.
    pub fn warmup(&self) -> Extent {
        match self {
            Self::PingPong(work) => work.warmup,
            Self::Transfer(work) => work.warmup,
            Self::ParameterServing(_) => Extent::Iterations(0),
            Self::Rpc(work) => work.warmup,
            Self::MemoryFootprint(_) | Self::Command(_) => Extent::Iterations(0),
        }
    }

    /// Whether the flows of the many-to-many pattern can use the workload. Their windows are opened and closed at the
    /// same time, so the workload must be a unidirectional closed loop that runs for a fixed duration, or parameter
    /// serving.
    pub fn suits_many_to_many(&self) -> bool {
        match self {
            Self::Transfer(transfer) => {
                transfer.direction == Direction::Unidirectional
                    && transfer.open_loop.is_none()
                    && !transfer.flush
                    && !transfer.ping
                    && !transfer.segments
                    && !transfer.read_back
                    && matches!(transfer.measured, Extent::DurationNanos(_))
            }
            Self::ParameterServing(_) => true,
            Self::PingPong(_) | Self::Rpc(_) | Self::MemoryFootprint(_) | Self::Command(_) => false,
        }
    }

    /// Whether the workload has writes without immediate data over the transport. In every mode of parameter serving, the
    /// trainer writes at least its tables.
    pub fn writes(&self) -> bool {
        match self {
            Self::Transfer(transfer) => transfer.operation == TransferOperation::Write,
            Self::ParameterServing(_) => true,
            Self::PingPong(_) | Self::Rpc(_) | Self::MemoryFootprint(_) | Self::Command(_) => false,
        }
    }

    /// Whether the workload can be measured if writes complete before their data has arrived: it has no writes, or one side
    /// posts all writes of a case in a closed loop, and only the last one is followed by an operation that depends on their
    /// data. `many_to_many` specifies whether several flows run concurrently, whose windows end at a completion.
    pub fn allows_local_write_completion(&self, many_to_many: bool) -> bool {
        match self {
            Self::Transfer(transfer) => {
                transfer.operation != TransferOperation::Write
                    || (transfer.direction == Direction::Unidirectional
                        && transfer.open_loop.is_none()
                        && !transfer.flush
                        && !transfer.read_back
                        && !many_to_many)
            }
            Self::PingPong(_)
            | Self::Rpc(_)
            | Self::MemoryFootprint(_)
            | Self::ParameterServing(_)
            | Self::Command(_) => !self.writes(),
        }
    }

    /// Replaces the number of measured operations or the duration of the measurement. Parameter serving has separate
    /// limits, which do not change, and a command is executed once.
    pub fn set_measured(&mut self, measured: Extent) {
        match self {
            Self::PingPong(work) => work.measured = measured,
            Self::Transfer(work) => work.measured = measured,
            Self::Rpc(work) => work.measured = measured,
            Self::MemoryFootprint(work) => work.measured = measured,
            Self::ParameterServing(_) | Self::Command(_) => {}
        }
    }

    /// The workload, if it is parameter serving.
    pub fn serving(&self) -> Option<&ServingWorkload> {
        match self {
            Self::ParameterServing(serving) => Some(serving),
            Self::PingPong(_)
            | Self::Transfer(_)
            | Self::Rpc(_)
            | Self::MemoryFootprint(_)
            | Self::Command(_) => None,
        }
    }

    /// The workload, if it is a command.
    pub fn command(&self) -> Option<&CommandWorkload> {
        match self {
            Self::Command(command) => Some(command),
            Self::PingPong(_)
            | Self::Transfer(_)
            | Self::Rpc(_)
            | Self::MemoryFootprint(_)
            | Self::ParameterServing(_) => None,
        }
    }
}
