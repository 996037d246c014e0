//! States of the posts, receives, writes and flushes of one rail.

use crate::transport::Peer;
use std::collections::VecDeque;
use std::ffi::c_void;

/// State of the post with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PostState {
    /// No post has this token.
    Idle,
    /// The completion of the call completes the post.
    Single,
    /// The post is a write: the call and a later flush must complete.
    Write {
        peer: Peer,
        /// Whether the call has completed.
        written: bool,
        /// Whether a flush that covers the call has completed.
        flushed: bool,
        /// Immediate data to send after the flush.
        immediate: Option<u64>,
    },
}

/// State of the receive with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceiveState {
    /// No receive has this token.
    Idle,
    /// The receive is being posted.
    Posting,
    /// The receive is posted; contains its request.
    Posted(*mut c_void),
    /// The payload of an active message is being fetched from the peer.
    Fetching {
        /// Immediate data of the message.
        immediate: u64,
        /// Payload length in bytes.
        length: usize,
    },
}

/// Writes in flight to one peer.
pub(super) struct PeerWrites {
    /// Number of the next put.
    next: u64,
    /// Puts that no completed flush covers, in order of their numbers.
    pending: VecDeque<(u64, u32)>,
    /// Whether there have been puts since the last flush.
    is_unflushed: bool,
    /// Number of flushes in flight.
    flushes: usize,
}

impl PeerWrites {
    /// Creates the state for up to `depth` writes in flight.
    pub(super) fn new(depth: usize) -> Self {
        Self {
            next: 0,
            pending: VecDeque::with_capacity(depth),
            is_unflushed: false,
            flushes: 0,
        }
    }

    /// Records that the put with this token was posted.
    #[inline]
    pub(super) fn record_put(&mut self, token: u32) {
        self.pending.push_back((self.next, token));
        self.next += 1;
        self.is_unflushed = true;
    }

    /// Whether there have been puts since the last flush.
    #[inline]
    pub(super) fn is_unflushed(&self) -> bool {
        self.is_unflushed
    }

    /// Number of flushes in flight.
    #[inline]
    pub(super) fn flushes(&self) -> usize {
        self.flushes
    }

    /// Records that a flush is about to be posted. Returns the number of the first put that it does not cover.
    #[inline]
    pub(super) fn record_flush(&mut self) -> u64 {
        self.is_unflushed = false;
        self.flushes += 1;
        self.next
    }

    /// Records that a flush has completed or failed.
    #[inline]
    pub(super) fn record_flush_completion(&mut self) {
        self.flushes -= 1;
    }

    /// Removes the oldest put whose number is less than `end`, and returns its token.
    #[inline]
    pub(super) fn next_covered(&mut self, end: u64) -> Option<u32> {
        let covered = self.pending.pop_front_if(|(number, _)| *number < end);
        covered.map(|(_, token)| token)
    }
}

/// Flush in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlushState {
    pub peer: Peer,
    /// Number of the first put that the flush does not cover.
    pub end: u64,
    /// Whether the caller requested the flush. If false, the flush was posted to complete writes.
    pub is_requested: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flush_covers_only_the_puts_before_it() {
        let mut writes = PeerWrites::new(4);
        writes.record_put(7);
        writes.record_put(3);
        assert_eq!((writes.flushes(), writes.is_unflushed()), (0, true));
        let end = writes.record_flush();
        assert_eq!((writes.flushes(), writes.is_unflushed()), (1, false));
        writes.record_put(5);
        assert!(writes.is_unflushed());
        writes.record_flush_completion();
        assert_eq!(writes.flushes(), 0);
        let covered: Vec<u32> = std::iter::from_fn(|| writes.next_covered(end)).collect();
        assert_eq!(covered, [7, 3]);
        let end = writes.record_flush();
        assert_eq!(writes.next_covered(end), Some(5));
        assert_eq!(writes.next_covered(end), None);
    }
}
