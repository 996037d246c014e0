//! What the planner and the runner ask about the workload of a scenario, whichever it is.

use std::time::Duration;

use super::Extent;
use crate::assignment::SLOT_ALIGNMENT;
use crate::assignment::memory::{AREA_BUDGET_BYTES, CONTROL_BYTES, PING_PONG_WINDOW, receives_per_rail};
use crate::v1alpha1::{CommandPattern, CommandTool, MemoryKind, OpenLoop, RpcChannel, TransferOperation};

/// Time to start and stop the processes of a case.
const PROCESSES: Duration = Duration::from_secs(10);

/// A field of a workload that contradicts the rest of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inconsistency {
    /// The field, with a dot in front of it; empty if several fields are meant.
    pub field: &'static str,
    /// Why it is invalid.
    pub reason: &'static str,
}

impl Inconsistency {
    /// Returns an inconsistency unless `holds`.
    pub(super) fn unless(holds: bool, field: &'static str, reason: &'static str) -> Result<(), Self> {
        if holds {
            Ok(())
        } else {
            Err(Self { field, reason })
        }
    }
}

/// Benchmark tool that the cases of a workload execute.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'a> {
    /// The tool whose output format the client uses.
    pub kind: CommandTool,
    /// How to parse the output of a tool without a known format.
    pub pattern: Option<&'a CommandPattern>,
    /// Server program and its arguments; empty if only the client is run.
    pub server: &'a [String],
    /// Client program and its arguments.
    pub client: &'a [String],
}

/// Properties of a workload. The defaults are those of one closed loop with one message in flight, which one thread sends
/// over the fabric in one direction. [`Workload`](super::Workload) dereferences to the properties of its variant.
pub trait WorkloadProperties {
    /// Checks that the values are within their bounds and consistent.
    ///
    /// # Errors
    /// Returns the first field that is not.
    fn check(&self) -> Result<(), Inconsistency> {
        Ok(())
    }

    /// Number of measured operations, or duration of the measurement.
    fn measured(&self) -> Extent;

    /// Replaces the number of measured operations or the duration of the measurement, unless the workload has separate
    /// limits.
    fn set_measured(&mut self, _measured: Extent) {}

    /// Number of warm-up operations, or duration of the warm-up.
    fn warmup(&self) -> Extent {
        Extent::Iterations(0)
    }

    /// Intended start times of the operations; `None` for a closed loop.
    fn open_loop(&self) -> Option<OpenLoop> {
        None
    }

    /// Sets the intended start times of a workload that can be an open loop.
    fn set_open_loop(&mut self, _open_loop: OpenLoop) {}

    /// What an open loop starts, in the plural.
    fn started(&self) -> &'static str {
        "transfers"
    }

    /// The tool whose processes transfer the data without the transport, and whose printed values are the results; `None`
    /// if the runner performs and times the operations.
    fn tool(&self) -> Option<Tool<'_>> {
        None
    }

    /// Name of the mode, if it does not send the payload over the fabric in any arm.
    fn mode_off_fabric(&self) -> Option<&'static str> {
        None
    }

    /// Number of initiator threads.
    fn threads(&self) -> u32 {
        1
    }

    /// Number of threads of a pair that post operations: those of the initiator, plus those of the target if both
    /// workers post.
    fn posters(&self) -> u32 {
        self.threads()
            .saturating_mul(if self.is_bidirectional() { 2 } else { 1 })
    }

    /// Operation that transfers the payload over the fabric. An operation of a ping-pong is represented by the operation
    /// of the same name of a transfer.
    fn operation(&self) -> TransferOperation {
        TransferOperation::Send
    }

    /// Maximum number of messages or transfers in flight per thread.
    fn window(&self) -> u32 {
        PING_PONG_WINDOW
    }

    /// Number of transfers posted together in one burst.
    fn batch(&self) -> u32 {
        1
    }

    /// Whether up to [`window`](Self::window) transfers are in flight, each in separate memory and with a sample from its
    /// post to its completion. If not, there is one message at a time, and all messages use the same memory.
    fn is_pipelined(&self) -> bool {
        false
    }

    /// Whether all transfers in flight use the same buffers.
    fn shares_buffers(&self) -> bool {
        false
    }

    /// Whether both workers of a pair post operations.
    fn is_bidirectional(&self) -> bool {
        false
    }

    /// Whether the initiator and whether the target measures operations. The echo of a ping-pong is part of the
    /// initiator's operation, not a separate operation.
    fn measuring_sides(&self) -> [bool; 2] {
        [true, self.is_bidirectional()]
    }

    /// Whether every burst of writes is followed by a burst of reads of the same memory.
    fn reads_back(&self) -> bool {
        false
    }

    /// Whether each thread uses one NUMA node, and every transfer in flight has separate memory.
    fn has_segments(&self) -> bool {
        false
    }

    /// Kind of memory of the last threads of a pair, and the number of the first of them; `None` if all threads use the
    /// scenario's memory.
    fn second_memory(&self) -> Option<(MemoryKind, u32)> {
        None
    }

    /// Size in bytes of the largest message that is sent over the transport, if the largest size of the scenario is
    /// `max_size_bytes`.
    fn largest_message(&self, max_size_bytes: u64) -> u64 {
        max_size_bytes
    }

    /// Size in bytes of the source area of one thread with `rails` rails, if the largest size of the scenario is
    /// `max_size_bytes`. The target area has the same size.
    fn area_bytes(&self, max_size_bytes: u64, rails: u64) -> u64 {
        let largest = self.largest_message(max_size_bytes);
        let slot = largest.max(CONTROL_BYTES).next_multiple_of(SLOT_ALIGNMENT);
        let window = if self.shares_buffers() { 1 } else { self.window() };
        // The payload of a send arrives in the buffers of posted receives.
        let slots = if self.operation() == TransferOperation::Send {
            rails * u64::from(receives_per_rail(window))
        } else {
            u64::from(window)
        };
        // Space for one message of the largest size, with a separate slot for each chunk.
        let minimum = slot + rails * SLOT_ALIGNMENT;
        let wanted = slots.saturating_mul(slot);
        // A segment has memory for every transfer in flight.
        let budget = if self.has_segments() {
            wanted
        } else {
            AREA_BUDGET_BYTES
        };
        wanted.min(budget).max(minimum)
    }

    /// Whether payload arrives in the initiator's memory and whether it arrives in the target's, in an arm with `channel`.
    fn payload_arrives(&self, channel: RpcChannel) -> [bool; 2] {
        [!self.is_off_fabric(channel); 2]
    }

    /// Whether an arm's channel determines how it passes the payload.
    fn uses_channels(&self) -> bool {
        false
    }

    /// Whether the cases can start processes, which the measuring process watches from further threads. Calls start none
    /// in an arm that calls over its transport.
    fn starts_processes(&self) -> bool {
        self.uses_channels()
    }

    /// CUDA device number of the GPU that holds the payload of arms that do not use their transport; `None` if it is in
    /// host memory.
    fn gpu(&self) -> Option<u32> {
        None
    }

    /// Selects the GPU that holds the payload of arms that do not use their transport.
    fn set_gpu(&mut self, _gpu: Option<u32>) {}

    /// Whether the payload of an arm with `channel` stays on the initiator's machine and does not use the transport.
    fn is_off_fabric(&self, _channel: RpcChannel) -> bool {
        false
    }

    /// Whether every case of an arm with `channel` sends its payload over the transport.
    fn requires_transport(&self, channel: RpcChannel) -> bool {
        !self.is_off_fabric(channel)
    }

    /// Whether the timed operations of an arm with `channel` may use the library of its transport. If they do not,
    /// settings of that library cannot change the result.
    fn uses_library(&self, _channel: RpcChannel) -> bool {
        true
    }

    /// Whether an operation of an arm with `channel` moves the bytes of a payload of `size_bytes` bytes. Local calls
    /// and shared memory pass the payload by reference, so their time does not include a transfer of its bytes.
    fn moves_payload(&self, channel: RpcChannel, size_bytes: u64) -> bool {
        let by_reference = matches!(
            channel.for_payload(size_bytes),
            RpcChannel::Local | RpcChannel::SharedMemory
        );
        !(self.uses_channels() && by_reference)
    }

    /// Whether the flows of the many-to-many pattern can use the workload. Their windows are opened and closed at the
    /// same time, so the workload must run for a fixed duration, or stop by itself.
    fn suits_many_to_many(&self) -> bool {
        false
    }

    /// Whether the workload has writes without immediate data over the transport.
    fn writes(&self) -> bool {
        self.operation() == TransferOperation::Write
    }

    /// Whether the workload can be measured if writes complete before their data has arrived: it has no writes, or one side
    /// posts all writes of a case in a closed loop, and only the last one is followed by an operation that depends on their
    /// data. `many_to_many` specifies whether several flows run concurrently, whose windows end at a completion.
    fn allows_local_write_completion(&self, _many_to_many: bool) -> bool {
        !self.writes()
    }

    /// Limit that an instrument applies to its side of a case of an arm with `channel`, whose processes copy the payload in
    /// `copy_time`. `case_deadline` is the limit unless the workload needs more time or has a limit of its own.
    fn instrument_limit(
        &self,
        _channel: RpcChannel,
        case_deadline: Duration,
        _copy_time: Duration,
    ) -> Duration {
        // The exchanges before and after the measurement have as much time as the measurement.
        let longest_part = self.measured().duration().max(self.warmup().duration());
        case_deadline.max(2 * longest_part)
    }

    /// Number of copies of the payload that the processes of a case allocate, fill or free.
    fn copies(&self) -> u64 {
        1
    }
}

/// Limit of a case whose processes may run for `timeout_seconds`. Their own limit applies to the processes that the
/// instrument starts, so that the case report contains the cause.
pub(super) fn process_limit(case_deadline: Duration, timeout_seconds: u32) -> Duration {
    case_deadline.max(Duration::from_secs(timeout_seconds.into()) + PROCESSES)
}
