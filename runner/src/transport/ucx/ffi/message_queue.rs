//! Active messages that have arrived, and receives that wait for them.

use super::callbacks::Event;
use std::collections::VecDeque;
use ucx_sys::bindings::ucp_mem_h;

/// Posted receive that has not been matched with a message.
pub(super) struct PostedReceive {
    pub token: u32,
    pub pointer: *mut u8,
    pub length: usize,
    pub handle: ucp_mem_h,
}

/// Receives and messages that have not been matched yet. After all matches have been taken, at most one of the
/// queues has an entry.
pub(super) struct MessageQueue {
    receives: VecDeque<PostedReceive>,
    arrived: VecDeque<Event>,
}

impl MessageQueue {
    /// Creates queues that hold up to `depth` receives and `depth` messages without allocating.
    pub(super) fn new(depth: usize) -> Self {
        Self {
            receives: VecDeque::with_capacity(depth),
            arrived: VecDeque::with_capacity(depth),
        }
    }

    /// Adds a posted receive.
    #[inline]
    pub(super) fn push_receive(&mut self, receive: PostedReceive) {
        self.receives.push_back(receive);
    }

    /// Adds a message that has arrived.
    #[inline]
    pub(super) fn push_message(&mut self, message: Event) {
        self.arrived.push_back(message);
    }

    /// Removes the oldest receive and the oldest message, if there are both.
    #[inline]
    pub(super) fn next_match(&mut self) -> Option<(PostedReceive, Event)> {
        if self.arrived.is_empty() {
            return None;
        }
        let receive = self.receives.pop_front()?;
        self.arrived.pop_front().map(|message| (receive, message))
    }

    /// Removes all messages and receives, and returns the messages.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Event> + use<> {
        self.receives.clear();
        std::mem::take(&mut self.arrived).into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::ucx::ffi::callbacks::Source;

    fn receive(token: u32) -> PostedReceive {
        PostedReceive {
            token,
            pointer: std::ptr::null_mut(),
            length: 0,
            handle: std::ptr::null_mut(),
        }
    }

    fn message(immediate: u64) -> Event {
        Event {
            source: Source::Message,
            status: 0,
            immediate,
            length: 0,
            payload: None,
        }
    }

    #[test]
    fn messages_are_matched_with_receives_in_order() {
        let mut queue = MessageQueue::new(2);
        queue.push_receive(receive(1));
        queue.push_receive(receive(2));
        assert!(queue.next_match().is_none());
        queue.push_message(message(10));
        queue.push_message(message(20));
        let matched = |queue: &mut MessageQueue| {
            let (receive, message) = queue.next_match()?;
            Some((receive.token, message.immediate))
        };
        assert_eq!(matched(&mut queue), Some((1, 10)));
        assert_eq!(matched(&mut queue), Some((2, 20)));
        assert_eq!(matched(&mut queue), None);
        queue.push_message(message(30));
        assert_eq!(matched(&mut queue), None);
        let rest: Vec<u64> = queue.drain().map(|message| message.immediate).collect();
        assert_eq!(rest, [30]);
        assert!(queue.next_match().is_none());
    }
}
