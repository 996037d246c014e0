//! Transfers with many messages in flight.

use serde::{Deserialize, Serialize};

use super::{Extent, Inconsistency, WorkloadProperties};
use crate::v1alpha1::{Direction, MemoryKind, OpenLoop, RpcChannel, TransferBuffers, TransferOperation};

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

impl TransferWorkload {
    fn is_closed_loop_in_one_direction(&self) -> bool {
        self.direction == Direction::Unidirectional && self.open_loop.is_none()
    }
}

impl WorkloadProperties for TransferWorkload {
    fn check(&self) -> Result<(), Inconsistency> {
        let is_bounded = (1..=4096).contains(&self.window)
            && (1..=self.window).contains(&self.batch)
            && (1..=64).contains(&self.threads);
        Inconsistency::unless(is_bounded, "", "window, batch or threads is out of bounds")?;
        Inconsistency::unless(
            !self.flush || (self.window == 1 && !self.is_bidirectional()),
            ".flush",
            "requires a window of 1 and one direction",
        )?;
        let reads_back = self.operation == TransferOperation::Write
            && self.is_closed_loop_in_one_direction()
            && self.window == self.batch
            && !self.flush;
        Inconsistency::unless(
            !self.read_back || reads_back,
            ".readBack",
            "requires writes in one direction in a closed loop, and a window that equals the batch",
        )?;
        Inconsistency::unless(
            !self.ping || (self.threads == 1 && self.is_bidirectional() && self.open_loop.is_none()),
            ".ping",
            "requires both directions, a closed loop and a single thread",
        )
    }

    fn measured(&self) -> Extent {
        self.measured
    }

    fn set_measured(&mut self, measured: Extent) {
        self.measured = measured;
    }

    fn warmup(&self) -> Extent {
        self.warmup
    }

    fn open_loop(&self) -> Option<OpenLoop> {
        self.open_loop
    }

    fn set_open_loop(&mut self, open_loop: OpenLoop) {
        self.open_loop = Some(open_loop);
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn operation(&self) -> TransferOperation {
        self.operation
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn batch(&self) -> u32 {
        self.batch
    }

    fn is_pipelined(&self) -> bool {
        true
    }

    fn shares_buffers(&self) -> bool {
        self.buffers == TransferBuffers::Shared
    }

    fn is_bidirectional(&self) -> bool {
        self.direction == Direction::Bidirectional
    }

    fn reads_back(&self) -> bool {
        self.read_back
    }

    fn has_segments(&self) -> bool {
        self.segments
    }

    fn second_memory(&self) -> Option<(MemoryKind, u32)> {
        let first = self.threads.div_ceil(2);
        self.second_memory.map(|kind| (kind, first))
    }

    fn payload_arrives(&self, _channel: RpcChannel) -> [bool; 2] {
        let both = self.is_bidirectional() || self.read_back;
        let is_read = self.operation == TransferOperation::Read;
        [both || is_read, both || !is_read]
    }

    fn suits_many_to_many(&self) -> bool {
        self.is_closed_loop_in_one_direction()
            && !self.flush
            && !self.ping
            && !self.segments
            && !self.read_back
            && matches!(self.measured, Extent::DurationNanos(_))
    }

    fn allows_local_write_completion(&self, many_to_many: bool) -> bool {
        !self.writes()
            || (self.is_closed_loop_in_one_direction() && !self.flush && !self.read_back && !many_to_many)
    }
}
