//! States of the operations of one rail. Performs no I/O.

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
    pub next: u64,
    /// Puts that no completed flush covers, in order of their numbers.
    pub pending: VecDeque<(u64, u32)>,
    /// Number of bytes put since the last flush.
    pub unflushed_bytes: usize,
    /// Whether there have been puts since the last flush.
    pub is_unflushed: bool,
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

impl PeerWrites {
    /// Creates the state for up to `depth` writes in flight.
    pub(super) fn new(depth: usize) -> Self {
        Self {
            next: 0,
            pending: VecDeque::with_capacity(depth),
            unflushed_bytes: 0,
            is_unflushed: false,
        }
    }
}
