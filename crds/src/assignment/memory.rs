//! Memory requirements of a scenario, used by the planner for estimates and by the runner for allocation.

use super::{PingPongWorkload, SLOT_ALIGNMENT, ScenarioAssignment, TransferWorkload, Workload};
use crate::v1alpha1::{PingPongOperation, TransferBuffers, TransferOperation};

/// Maximum size of a memory area in bytes, unless a single message is larger or the workload has segments. The limit
/// exceeds the cache sizes of most CPUs, so that large transfers are read from main memory, but still allows one area
/// per thread.
pub const AREA_BUDGET_BYTES: u64 = 128 * 1024 * 1024;
/// Largest area in bytes that scenarios of the same memory kind share. A scenario that needs more has separate memory,
/// so that the other scenarios still run if this memory does not fit.
pub const MAX_SHARED_AREA_BYTES: u64 = 2 * AREA_BUDGET_BYTES;
/// Size of a control message in bytes. The information is carried in the immediate data.
pub const CONTROL_BYTES: u64 = 8;
/// Number of receives posted on each rail for control messages, in addition to those for the messages in flight.
pub const SPARE_RECEIVES: u32 = 4;
/// Maximum number of receives posted on each rail. Libraries buffer messages that arrive when no receive is posted.
pub const MAX_RECEIVES: u32 = 512;
/// Maximum number of ping-pong messages whose buffers are in use at the same time. It is greater than 1 because the
/// echo can arrive before the send completion has been read.
pub const PING_PONG_WINDOW: u32 = 4;

impl ScenarioAssignment {
    /// Size in bytes of the source area of one thread with `rails` rails. The target area has the same size.
    pub fn area_bytes(&self, rails: u64) -> u64 {
        let largest = match &self.workload {
            Workload::Rpc(rpc) => rpc.message_bytes,
            Workload::MemoryFootprint(_) | Workload::Command(_) => 0,
            Workload::ParameterServing(serving) => {
                return serving.area_bytes(self.max_size_bytes) + rails * SLOT_ALIGNMENT;
            }
            Workload::PingPong(_) | Workload::Transfer(_) => self.max_size_bytes,
        };
        let slot = largest.max(CONTROL_BYTES).next_multiple_of(SLOT_ALIGNMENT);
        let window = if shares_buffers(&self.workload) {
            1
        } else {
            window(&self.workload)
        };
        let slots = if is_send(&self.workload) {
            rails * u64::from(receives_per_rail(window))
        } else {
            u64::from(window)
        };
        // Space for one message of the largest size, with a separate slot for each chunk.
        let minimum = slot + rails * SLOT_ALIGNMENT;
        let wanted = slots.saturating_mul(slot);
        // A segment has memory for every transfer in flight.
        let budget = if self.workload.has_segments() {
            wanted
        } else {
            AREA_BUDGET_BYTES
        };
        wanted.min(budget).max(minimum)
    }
}

/// Maximum number of messages or transfers in flight per thread.
pub fn window(workload: &Workload) -> u32 {
    match workload {
        Workload::PingPong(_) | Workload::Rpc(_) | Workload::MemoryFootprint(_) | Workload::Command(_) => {
            PING_PONG_WINDOW
        }
        Workload::Transfer(transfer) => transfer.window,
        Workload::ParameterServing(_) => 1,
    }
}

/// Whether all transfers in flight use the same buffers.
pub fn shares_buffers(workload: &Workload) -> bool {
    matches!(workload, Workload::Transfer(transfer) if transfer.buffers == TransferBuffers::Shared)
}

/// Whether the payload arrives in the buffers of posted receives.
pub fn is_send(workload: &Workload) -> bool {
    match workload {
        Workload::PingPong(PingPongWorkload { operation, .. }) => *operation == PingPongOperation::Send,
        Workload::Transfer(TransferWorkload { operation, .. }) => *operation == TransferOperation::Send,
        Workload::Rpc(_) | Workload::MemoryFootprint(_) | Workload::Command(_) => true,
        Workload::ParameterServing(_) => false,
    }
}

/// Number of receives to post on each rail for `in_flight` messages.
pub fn receives_per_rail(in_flight: u32) -> u32 {
    in_flight.saturating_add(SPARE_RECEIVES).min(MAX_RECEIVES)
}
