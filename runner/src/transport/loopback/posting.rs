//! Ring producer: splits posts into packets, and turns responses into completions. Accesses only shared memory.
//!
//! A short message is written to its slot immediately. A longer message, and every message behind it, waits in a queue
//! of fixed size and is written packet by packet, in post order, as slots and fragments become free. If posts set
//! `more`, filled slots are not published and queued messages are not started until a post without `more` (or a full
//! ring) rings the doorbell.

use super::memory::{LoopbackRegion, RegionTable};
use super::ring::{Opcode, Packet, Ring};
use super::rules::layout::{FRAGMENT_BYTES, FRAGMENTS, IMMEDIATE_MASK, INLINE_BYTES};
use super::sink::Sink;
use crate::memory::ffi::mapping::Span;
use crate::transport::{CompletionKind, Operation, Post, PostError, Rail};

/// Post that has not completed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingPost {
    pub(super) opcode: Opcode,
    pub(super) token: u32,
    pub(super) inject: bool,
    /// Index of the local memory in the region table.
    pub(super) region: usize,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) key: u64,
    pub(super) remote: u64,
    pub(super) immediate: u64,
}

impl PendingPost {
    const EMPTY: Self = Self {
        opcode: Opcode::Send,
        token: 0,
        inject: false,
        region: 0,
        offset: 0,
        length: 0,
        key: 0,
        remote: 0,
        immediate: 0,
    };

    /// Copies the parts of a post that are needed until the post completes.
    #[inline]
    pub(super) fn new(post: &Post<'_, LoopbackRegion>) -> Self {
        let (opcode, remote, remote_offset, immediate) = match post.operation {
            Operation::Send { immediate } => (Opcode::Send, None, 0, immediate),
            Operation::Write {
                remote,
                remote_offset,
            } => (Opcode::Write, Some(remote), remote_offset, 0),
            Operation::WriteImmediate {
                remote,
                remote_offset,
                immediate,
            } => (Opcode::WriteImmediate, Some(remote), remote_offset, immediate),
            Operation::Read {
                remote,
                remote_offset,
            } => (Opcode::Read, Some(remote), remote_offset, 0),
        };
        let remote = remote.unwrap_or_default();
        Self {
            opcode,
            token: post.token,
            inject: post.inject,
            region: post.region.index(),
            offset: post.offset,
            length: post.length,
            key: remote.key,
            // The target rejects every address outside its region, including the saturated address.
            remote: remote.address.saturating_add(remote_offset),
            immediate: immediate & IMMEDIATE_MASK,
        }
    }

    fn is_inline(&self) -> bool {
        self.length <= INLINE_BYTES
    }
}

/// Post that failed, with the peer's response.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedPost {
    pub(super) opcode: Opcode,
    pub(super) token: u32,
    pub(super) length: u64,
    /// Errno in the peer's response.
    pub(super) status: i32,
}

/// Failure of a post, or protocol violation by a peer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// A post failed. Later posts are still executed.
    Failed(FailedPost),
    /// The peer's counters are invalid.
    Corrupt,
}

/// Ring producer.
#[derive(Debug)]
pub(super) struct Outbound {
    ring: Ring,
    /// Circular buffer of posts in flight, `oldest..newest`.
    ///
    /// Posts `oldest..cursor` have been written to slots completely, and posts `oldest..released` may be sent. All
    /// counters of this struct start at 0 and never wrap in practice.
    posts: Box<[PendingPost]>,
    oldest: u64,
    cursor: u64,
    released: u64,
    newest: u64,
    /// Number of bytes in slots that belong to the post at `cursor`.
    filled: u64,
    /// Number of acknowledged bytes of the post at `oldest`.
    acknowledged: u64,
    /// First error in the responses to the post at `oldest`.
    status: i32,
    /// Slots: `head..responses` have responses, `responses..published` are waiting for the peer, `published..tail` are
    /// filled but not published.
    head: u64,
    responses: u64,
    published: u64,
    tail: u64,
    /// Fragments in use: `fragments_free..fragments_used`.
    fragments_used: u64,
    fragments_free: u64,
}

impl Outbound {
    /// Creates a producer that allows at most `posts` posts in flight. `posts` must be a power of two.
    pub(super) fn new(ring: Ring, posts: usize) -> Self {
        Self {
            ring,
            posts: vec![PendingPost::EMPTY; posts].into_boxed_slice(),
            oldest: 0,
            cursor: 0,
            released: 0,
            newest: 0,
            filled: 0,
            acknowledged: 0,
            status: 0,
            head: 0,
            responses: 0,
            published: 0,
            tail: 0,
            fragments_used: 0,
            fragments_free: 0,
        }
    }

    /// Accepts a post of `bytes`. Returns whether a slot was published.
    ///
    /// # Errors
    /// Returns `Again` if the queue is full. An injection also returns `Again` if it would have to wait in the queue,
    /// because the caller may reuse its memory immediately.
    #[inline]
    pub(super) fn post(
        &mut self,
        post: PendingPost,
        bytes: Span<'_>,
        more: bool,
        regions: &RegionTable,
    ) -> Result<bool, PostError> {
        if self.newest - self.oldest == self.posts.len() as u64 {
            return Err(PostError::Again);
        }
        let bypasses_queue = post.is_inline() && self.cursor == self.newest && self.has_slot();
        if !bypasses_queue && post.inject {
            return Err(PostError::Again);
        }
        let index = self.index(self.newest);
        self.posts[index] = post;
        self.newest += 1;
        if bypasses_queue {
            self.fill(&post, 0, post.length, None, bytes);
            self.cursor = self.newest;
        }
        Ok(!more && self.ring_doorbell(regions))
    }

    /// Publishes the posts that were deferred because of `more`. Returns whether a slot was published.
    #[inline]
    pub(super) fn ring_doorbell(&mut self, regions: &RegionTable) -> bool {
        self.released = self.newest;
        self.advance(regions);
        self.publish()
    }

    /// Fills slots with released posts from the queue. Returns whether a slot was published.
    #[inline]
    pub(super) fn send_queued(&mut self, regions: &RegionTable) -> bool {
        if self.cursor >= self.released {
            return false;
        }
        self.advance(regions);
        self.publish()
    }

    /// Collects responses while the sink has room for a completion. Returns whether any slot was released.
    ///
    /// # Errors
    /// Returns the first [`Fault`].
    #[inline]
    pub(super) fn reap(
        &mut self,
        rail: Rail,
        regions: &RegionTable,
        sink: &mut Sink<'_>,
    ) -> Result<bool, Fault> {
        if self.head == self.published {
            return Ok(false);
        }
        if self.responses == self.head {
            let responses = self.ring.head();
            if responses < self.head || responses > self.published {
                return Err(Fault::Corrupt);
            }
            self.responses = responses;
        }
        let before = self.head;
        while self.head < self.responses && !sink.is_full() {
            let post = &self.posts[self.index(self.oldest)];
            let fragment = (!post.is_inline()).then_some(self.fragments_free % FRAGMENTS);
            let length = packet_length(post, self.acknowledged);
            let status = self.ring.status(self.head);
            if post.opcode == Opcode::Read
                && status == 0
                && let Some(bytes) = self.ring.payload(self.head, fragment, length)
                && let Some(local) = regions.local(post.region, post.offset + self.acknowledged, length)
            {
                bytes.copy_to(local);
            }
            let is_done = self.acknowledged + length == post.length;
            if status != 0 && self.status == 0 {
                self.status = status;
            }
            self.acknowledged += length;
            self.head += 1;
            self.fragments_free += u64::from(fragment.is_some());
            if is_done {
                self.complete(rail, sink)?;
            }
        }
        Ok(self.head != before)
    }

    /// Removes the oldest post, whose packets have all been acknowledged, and reports its completion or failure.
    #[inline]
    fn complete(&mut self, rail: Rail, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let post = &self.posts[self.index(self.oldest)];
        let status = self.status;
        (self.acknowledged, self.status) = (0, 0);
        self.oldest += 1;
        if status != 0 {
            return Err(Fault::Failed(FailedPost {
                opcode: post.opcode,
                token: post.token,
                length: post.length,
                status,
            }));
        }
        if !post.inject {
            sink.push(rail, CompletionKind::Posted { token: post.token });
        }
        Ok(())
    }

    /// Whether posts are in flight.
    pub(super) fn is_busy(&self) -> bool {
        self.oldest != self.newest
    }

    /// Whether there are responses to collect.
    pub(super) fn has_responses(&self) -> bool {
        self.head != self.published && (self.responses != self.head || self.ring.head() != self.head)
    }

    /// Discards all posts, because the peer is gone.
    pub(super) fn abandon(&mut self) {
        self.oldest = self.newest;
        (self.cursor, self.released) = (self.newest, self.newest);
        (self.head, self.responses, self.published) = (self.tail, self.tail, self.tail);
        (self.acknowledged, self.filled, self.status) = (0, 0, 0);
        self.fragments_free = self.fragments_used;
    }

    fn advance(&mut self, regions: &RegionTable) {
        while self.cursor < self.released {
            let post = self.posts[self.index(self.cursor)];
            loop {
                let fragment = (!post.is_inline()).then_some(self.fragments_used % FRAGMENTS);
                let fragments = self.fragments_used - self.fragments_free;
                if !self.has_slot() || (fragment.is_some() && fragments == FRAGMENTS) {
                    return;
                }
                let length = packet_length(&post, self.filled);
                // The memory stays registered as long as the post is in flight, so the range is always valid.
                let Some(bytes) = regions.local(post.region, post.offset + self.filled, length) else {
                    return;
                };
                self.fill(&post, self.filled, length, fragment, bytes);
                self.fragments_used += u64::from(fragment.is_some());
                self.filled += length;
                if self.filled == post.length {
                    break;
                }
            }
            self.filled = 0;
            self.cursor += 1;
        }
    }

    #[inline]
    fn fill(&mut self, post: &PendingPost, offset: u64, length: u64, fragment: Option<u64>, bytes: Span<'_>) {
        if post.opcode != Opcode::Read
            && let Some(payload) = self.ring.payload(self.tail, fragment, length)
        {
            bytes.copy_to(payload);
        }
        self.ring.write(
            self.tail,
            &Packet {
                opcode: post.opcode,
                length,
                message: post.length,
                offset,
                key: post.key,
                remote: post.remote,
                immediate: post.immediate,
                fragment,
            },
        );
        self.tail += 1;
    }

    #[inline]
    fn publish(&mut self) -> bool {
        if self.published == self.tail {
            return false;
        }
        self.ring.publish(self.tail);
        self.published = self.tail;
        true
    }

    #[inline]
    fn has_slot(&self) -> bool {
        self.tail - self.head < self.ring.slots()
    }

    #[inline]
    fn index(&self, number: u64) -> usize {
        // The queue length is a power of two.
        number as usize & (self.posts.len() - 1)
    }
}

/// Length in bytes of a post's packet that starts at `offset`.
#[inline]
fn packet_length(post: &PendingPost, offset: u64) -> u64 {
    let capacity = if post.is_inline() {
        INLINE_BYTES
    } else {
        FRAGMENT_BYTES
    };
    (post.length - offset).min(capacity)
}
