//! Queues through which the callbacks and the thread that uses the worker exchange events, active messages and receives
//! for them.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ffi::c_void;
use ucx_sys::bindings::{UCS_OK, ucp_mem_h, ucs_status_t};

use super::payload::Payload;
use super::stable::StableBox;

/// Subject of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The post with this token.
    Post(u32),
    /// The receive with this token.
    Receive(u32),
    /// The flush in this slot.
    Flush(u32),
    /// A notification from a peer that a write has arrived.
    Notification,
    /// The endpoint to this peer.
    Endpoint(u32),
}

/// Event that the library reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub source: Source,
    pub status: ucs_status_t,
    /// Tag of a tagged message, or header of a notification or active message.
    pub immediate: u64,
    /// Length of a message's payload in bytes.
    pub length: usize,
}

/// Active message that arrived when no receive was posted for it, or whose payload must be fetched.
#[derive(Debug)]
pub(super) struct ArrivedMessage {
    /// Header.
    pub immediate: u64,
    pub payload: Payload,
}

/// Posted receive for an active message. Its memory is host memory.
#[derive(Debug)]
pub(super) struct PostedReceive {
    pub token: u32,
    pub pointer: *mut u8,
    /// Length in bytes.
    pub length: usize,
    pub handle: ucp_mem_h,
}

/// Number of bytes of copied payloads for which memory is allocated in advance: 16 payloads of 64 KiB, the largest that
/// UCX receives over tcp in one segment and therefore does not keep.
const COPIED_BYTES: usize = 1024 * 1024;

/// Function that releases a request.
pub(super) type RequestFree = unsafe extern "C" fn(*mut c_void);

/// Queues of events, of active messages that wait for a receive, and of posted receives for active messages.
pub(super) struct Events {
    events: UnsafeCell<VecDeque<Event>>,
    messages: UnsafeCell<VecDeque<ArrivedMessage>>,
    /// Payloads of the messages whose payload was copied, in the same order.
    copies: UnsafeCell<VecDeque<u8>>,
    receives: UnsafeCell<VecDeque<PostedReceive>>,
    pub request_free: RequestFree,
}

impl Events {
    /// Creates queues that do not allocate until they contain more than `event_capacity` events, more than
    /// `message_capacity` messages or receives, or more than [`COPIED_BYTES`] bytes of copied payloads.
    pub(super) fn new(
        request_free: RequestFree,
        event_capacity: usize,
        message_capacity: usize,
    ) -> StableBox<Self> {
        StableBox::from(Box::new(Self {
            events: UnsafeCell::new(VecDeque::with_capacity(event_capacity)),
            messages: UnsafeCell::new(VecDeque::with_capacity(message_capacity)),
            copies: UnsafeCell::new(VecDeque::with_capacity(COPIED_BYTES)),
            receives: UnsafeCell::new(VecDeque::with_capacity(message_capacity)),
            request_free,
        }))
    }

    /// Takes the oldest event.
    ///
    /// # Safety
    ///
    /// Only the thread that uses the worker may call this function, either from a callback or while no call to the
    /// library is in progress.
    #[inline]
    pub(super) unsafe fn pop(&self) -> Option<Event> {
        // SAFETY: no other reference to the queue exists: callbacks run only during calls to the library, on this
        // thread, do not interrupt each other, and drop their references before they return.
        let events = unsafe { &mut *self.events.get() };
        events.pop_front()
    }

    /// Adds an event.
    ///
    /// # Safety
    ///
    /// Same as [`Self::pop`].
    #[inline]
    pub(super) unsafe fn push(&self, event: Event) {
        // SAFETY: as in `pop`.
        let events = unsafe { &mut *self.events.get() };
        events.push_back(event);
    }

    /// Adds the event that completes a receive of a message of `length` bytes.
    ///
    /// # Safety
    ///
    /// Same as [`Self::pop`].
    #[inline]
    pub(super) unsafe fn push_received(&self, token: u32, immediate: u64, length: usize) {
        let event = Event {
            source: Source::Receive(token),
            status: UCS_OK,
            immediate,
            length,
        };
        // SAFETY: the caller fulfills the contract.
        unsafe { self.push(event) };
    }

    /// Adds a message that waits for a receive.
    ///
    /// # Safety
    ///
    /// Same as [`Self::pop`].
    #[inline]
    pub(super) unsafe fn push_message(&self, message: ArrivedMessage) {
        // SAFETY: as in `pop`.
        let messages = unsafe { &mut *self.messages.get() };
        messages.push_back(message);
    }

    /// Adds a message that waits for a receive, with a copy of its payload.
    ///
    /// # Safety
    ///
    /// Same as [`Self::pop`].
    pub(super) unsafe fn push_copy(&self, immediate: u64, payload: &[u8]) {
        // SAFETY: as in `pop`.
        let copies = unsafe { &mut *self.copies.get() };
        copies.extend(payload);
        let payload = Payload::Copied(payload.len());
        // SAFETY: the caller fulfills the contract.
        unsafe { self.push_message(ArrivedMessage { immediate, payload }) };
    }

    /// Removes the copied payload of the oldest message whose payload was copied, and passes it to `take` in up to two
    /// parts. The payload has `length` bytes.
    ///
    /// # Safety
    ///
    /// Same as [`Self::pop`]. `take` must use neither the library nor these queues.
    pub(super) unsafe fn take_copy(&self, length: usize, mut take: impl FnMut(&[u8])) {
        // SAFETY: as in `pop`.
        let copies = unsafe { &mut *self.copies.get() };
        let (first, second) = copies.as_slices();
        let in_first = length.min(first.len());
        take(&first[..in_first]);
        take(&second[..length - in_first]);
        copies.drain(..length);
    }

    /// Adds a receive.
    ///
    /// # Safety
    ///
    /// Same as [`Self::pop`]. The receive must be host memory in a region, which stays valid until the receive is taken
    /// or the worker is destroyed.
    #[inline]
    pub(super) unsafe fn push_receive(&self, receive: PostedReceive) {
        // SAFETY: as in `pop`.
        let receives = unsafe { &mut *self.receives.get() };
        receives.push_back(receive);
    }

    /// Takes the oldest receive for a message of `length` bytes that has just arrived, if the receive is long enough
    /// and no older message waits for it.
    ///
    /// # Safety
    ///
    /// Same as [`Self::pop`].
    #[inline]
    pub(super) unsafe fn take_receive(&self, length: usize) -> Option<PostedReceive> {
        // SAFETY: as in `pop`.
        let messages = unsafe { &*self.messages.get() };
        // SAFETY: as above.
        let receives = unsafe { &mut *self.receives.get() };
        receives.pop_front_if(|receive| length <= receive.length && messages.is_empty())
    }

    /// Takes the oldest receive and the oldest message that waits for one, if there are both.
    ///
    /// # Safety
    ///
    /// Same as [`Self::pop`].
    #[inline]
    pub(super) unsafe fn next_match(&self) -> Option<(PostedReceive, ArrivedMessage)> {
        // SAFETY: as in `pop`.
        let messages = unsafe { &mut *self.messages.get() };
        // SAFETY: as above.
        let receives = unsafe { &mut *self.receives.get() };
        if messages.is_empty() {
            return None;
        }
        let receive = receives.pop_front()?;
        // This cannot drop the receive, because there is a message.
        messages.pop_front().map(|message| (receive, message))
    }

    /// Removes all receives.
    ///
    /// # Safety
    ///
    /// Same as [`Self::pop`].
    pub(super) unsafe fn remove_receives(&self) {
        // SAFETY: as in `pop`.
        unsafe { &mut *self.receives.get() }.clear();
    }

    /// Takes the oldest message that waits for a receive.
    ///
    /// # Safety
    ///
    /// Same as [`Self::pop`].
    pub(super) unsafe fn pop_message(&self) -> Option<ArrivedMessage> {
        // SAFETY: as in `pop`.
        unsafe { &mut *self.messages.get() }.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::test_pair::pattern;

    unsafe extern "C" fn free(_: *mut c_void) {}

    #[test]
    fn copies_are_taken_in_order_also_at_the_end_of_their_memory() {
        let events = Events::new(free, 1, 1);
        let payloads = [pattern(COPIED_BYTES - 10, 1), pattern(5, 2), pattern(20, 3)];
        let push = |payload: &[u8]| {
            // SAFETY: this is the only thread, and not a callback.
            unsafe { events.push_copy(0, payload) };
        };
        let take = |length| {
            let (mut copy, mut parts) = (Vec::new(), 0);
            // SAFETY: as above, and the closure does not use the queues.
            unsafe {
                events.take_copy(length, |part| {
                    copy.extend_from_slice(part);
                    parts += usize::from(!part.is_empty());
                });
            }
            (copy, parts)
        };
        push(&payloads[0]);
        push(&payloads[1]);
        assert!(take(COPIED_BYTES - 10) == (payloads[0].clone(), 1));
        push(&payloads[2]);
        assert_eq!(take(5), (payloads[1].clone(), 1));
        assert_eq!(take(20), (payloads[2].clone(), 2));
    }
}
