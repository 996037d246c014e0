//! How much memory a scenario needs. The planner budgets by it, the runner allocates by it.

use super::{PingPongWorkload, ScenarioAssignment, TransferWorkload, Workload};
use crate::v1alpha1::{PingPongOperation, TransferOperation};

/// Most bytes of an area, unless one message alone is larger: above the caches of today's processors, so that large
/// transfers come from memory, and small enough for every thread to have its own.
pub const AREA_BUDGET_BYTES: u64 = 128 * 1024 * 1024;
/// Slots start at multiples of a cache line, so that neighbours do not share one.
pub const SLOT_ALIGNMENT: u64 = 64;
/// Bytes of a control message. What it says is in its immediate data.
pub const CONTROL_BYTES: u64 = 8;
/// Receives on a rail beyond the messages in flight: for the few control messages that may be on their way.
pub const SPARE_RECEIVES: u32 = 4;
/// Most receives on a rail; libraries keep messages that find none until one is posted.
pub const MAX_RECEIVES: u32 = 512;
/// Messages of a ping-pong whose memory is not free yet: the echo may be there before the own completion is read.
pub const PING_PONG_WINDOW: u32 = 4;

impl ScenarioAssignment {
    /// Bytes of the source area of one thread, and of its landing area, over `rails` rails.
    pub fn area_bytes(&self, rails: u64) -> u64 {
        let slot = self
            .max_size_bytes
            .max(CONTROL_BYTES)
            .next_multiple_of(SLOT_ALIGNMENT);
        let window = window(&self.workload);
        let slots = if is_send(&self.workload) {
            rails * u64::from(receives_on_a_rail(window))
        } else {
            u64::from(window)
        };
        // One message of the largest size, each of its chunks in a slot of its own.
        let least = slot + rails * SLOT_ALIGNMENT;
        slots.saturating_mul(slot).min(AREA_BUDGET_BYTES).max(least)
    }
}

/// Most transfers in flight at one thread.
pub fn window(workload: &Workload) -> u32 {
    match workload {
        Workload::PingPong(_) => PING_PONG_WINDOW,
        Workload::Transfer(transfer) => transfer.window,
    }
}

/// Initiator threads.
pub fn threads(workload: &Workload) -> u32 {
    match workload {
        Workload::PingPong(_) => 1,
        Workload::Transfer(transfer) => transfer.threads,
    }
}

/// Whether the payload goes into posted receives.
pub fn is_send(workload: &Workload) -> bool {
    match workload {
        Workload::PingPong(PingPongWorkload { operation, .. }) => *operation == PingPongOperation::Send,
        Workload::Transfer(TransferWorkload { operation, .. }) => *operation == TransferOperation::Send,
    }
}

/// Receives to be posted on each rail for `in_flight` messages.
pub fn receives_on_a_rail(in_flight: u32) -> u32 {
    in_flight.saturating_add(SPARE_RECEIVES).min(MAX_RECEIVES)
}
