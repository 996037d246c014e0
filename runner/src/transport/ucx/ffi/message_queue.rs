//! Active messages that have arrived, and receives that wait for them. Performs no I/O.

use super::callbacks::RawEvent;
use std::collections::VecDeque;
use ucx_sys::bindings::ucp_mem_h;

/// Posted receive that has not been matched with a message.
pub(super) struct PostedReceive {
    pub token: u32,
    pub pointer: *mut u8,
    pub length: usize,
    pub handle: ucp_mem_h,
}

/// Receives and messages that have not been matched yet. At most one of the queues has an entry.
#[derive(Default)]
pub(super) struct MessageQueue {
    pub receives: VecDeque<PostedReceive>,
    pub arrived: VecDeque<RawEvent>,
}

impl MessageQueue {
    /// Creates queues that hold up to `depth` receives and `depth` messages without allocating.
    pub(super) fn new(depth: usize) -> Self {
        Self {
            receives: VecDeque::with_capacity(depth),
            arrived: VecDeque::with_capacity(depth),
        }
    }
}
