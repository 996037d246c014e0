//! The filling side of a ring: posts become pieces, answers become completions. Touches shared memory only.
//!
//! A short message goes into its slot at once. A longer one, and every one behind it, waits in a queue of fixed size
//! and goes out piece by piece, as slots and fragments come free: in the order of the posts. With `more`, slots are
//! filled and not published, and queued messages not begun, until a post without it (or a full ring) rings.

use super::layout::{FRAGMENT_BYTES, FRAGMENTS, IMMEDIATE, INLINE_BYTES};
use super::region::{LoopbackRegion, Regions};
use super::ring::{Opcode, Piece, Ring};
use super::sink::Sink;
use crate::memory::ffi::mapping::Span;
use crate::transport::{CompletionKind, Operation, Post, PostError, Rail};

/// A post, until its completion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) opcode: Opcode,
    pub(super) token: u32,
    pub(super) inject: bool,
    /// Place of the local memory in the table of regions.
    pub(super) region: usize,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) key: u64,
    pub(super) remote: u64,
    pub(super) immediate: u64,
}

impl Pending {
    const NONE: Self = Self {
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

    /// What is kept of a post.
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
            // The target refuses what lies outside its region, so also the end of all addresses.
            remote: remote.address.saturating_add(remote_offset),
            immediate: immediate & IMMEDIATE,
        }
    }

    fn is_inline(&self) -> bool {
        self.length <= INLINE_BYTES
    }
}

/// A post that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed {
    pub(super) opcode: Opcode,
    pub(super) token: u32,
    pub(super) length: u64,
    /// The errno that the other side answered.
    pub(super) status: i32,
}

/// What the other side did wrong, or could not do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// A post failed; those behind it go on.
    Failed(Failed),
    /// It writes counters that it cannot have reached.
    Broken,
}

/// The filling side of a ring.
#[derive(Debug)]
pub(super) struct Outbound {
    ring: Ring,
    /// Posts in flight, oldest first, in a ring of their own: `oldest..newest`, of which `oldest..cursor` are wholly
    /// in slots and `oldest..rung` may go out. All counters here count from the start and never wrap in practice.
    posts: Box<[Pending]>,
    oldest: u64,
    cursor: u64,
    rung: u64,
    newest: u64,
    /// Bytes of the post at `cursor` that are in slots, and of the post at `oldest` that are answered.
    filled: u64,
    answered: u64,
    /// First error among the answers of the post at `oldest`.
    status: i32,
    /// Slots: `head..answers` are answered, `answers..published` are with the other side, `published..tail` are
    /// filled and not published.
    head: u64,
    answers: u64,
    published: u64,
    tail: u64,
    /// Fragments in use: `fragments_free..fragments_used`.
    fragments_used: u64,
    fragments_free: u64,
}

impl Outbound {
    /// `posts` in flight at most; a power of two.
    pub(super) fn new(ring: Ring, posts: usize) -> Self {
        Self {
            ring,
            posts: vec![Pending::NONE; posts].into_boxed_slice(),
            oldest: 0,
            cursor: 0,
            rung: 0,
            newest: 0,
            filled: 0,
            answered: 0,
            status: 0,
            head: 0,
            answers: 0,
            published: 0,
            tail: 0,
            fragments_used: 0,
            fragments_free: 0,
        }
    }

    /// Takes a post of `bytes`. Returns whether something was published.
    ///
    /// # Errors
    /// `Again` when the queue is full, or the ring for an inject, which cannot wait in the queue.
    #[inline]
    pub(super) fn post(
        &mut self,
        post: Pending,
        bytes: Span<'_>,
        more: bool,
        regions: &Regions,
    ) -> Result<bool, PostError> {
        if self.newest - self.oldest == self.posts.len() as u64 {
            return Err(PostError::Again);
        }
        let at_once = post.is_inline() && self.cursor == self.newest && self.has_slot();
        if !at_once && post.inject {
            return Err(PostError::Again);
        }
        let at = self.place(self.newest);
        self.posts[at] = post;
        self.newest += 1;
        if at_once {
            self.fill(&post, 0, post.length, None, bytes);
            self.cursor = self.newest;
        }
        Ok(!more && self.ring_doorbell(regions))
    }

    /// Publishes what `more` has held back. Returns whether something was published.
    #[inline]
    pub(super) fn ring_doorbell(&mut self, regions: &Regions) -> bool {
        self.rung = self.newest;
        self.advance(regions);
        self.publish()
    }

    /// Fills slots with queued posts that may go out. Returns whether something was published.
    #[inline]
    pub(super) fn push(&mut self, regions: &Regions) -> bool {
        if self.cursor >= self.rung {
            return false;
        }
        self.advance(regions);
        self.publish()
    }

    /// Collects what is done, as long as there is room for a completion. Returns whether anything was.
    ///
    /// # Errors
    /// The first [`Fault`] met.
    #[inline]
    pub(super) fn reap(&mut self, rail: Rail, regions: &Regions, sink: &mut Sink<'_>) -> Result<bool, Fault> {
        if self.head == self.published {
            return Ok(false);
        }
        if self.answers == self.head {
            let answers = self.ring.head();
            if answers < self.head || answers > self.published {
                return Err(Fault::Broken);
            }
            self.answers = answers;
        }
        let before = self.head;
        while self.head < self.answers && !sink.is_full() {
            let post = &self.posts[self.place(self.oldest)];
            let fragment = (!post.is_inline()).then_some(self.fragments_free % FRAGMENTS);
            let length = piece_length(post, self.answered);
            let status = self.ring.status(self.head);
            if post.opcode == Opcode::Read
                && status == 0
                && let Some(bytes) = self.ring.payload(self.head, fragment, length)
                && let Some(local) = regions.local(post.region, post.offset + self.answered, length)
            {
                bytes.copy_to(local);
            }
            let is_done = self.answered + length == post.length;
            if status != 0 && self.status == 0 {
                self.status = status;
            }
            self.answered += length;
            self.head += 1;
            self.fragments_free += u64::from(fragment.is_some());
            if is_done {
                self.complete(rail, sink)?;
            }
        }
        Ok(self.head != before)
    }

    /// Takes the oldest post off the queue, answered to its end.
    #[inline]
    fn complete(&mut self, rail: Rail, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let post = &self.posts[self.place(self.oldest)];
        let status = self.status;
        (self.answered, self.status) = (0, 0);
        self.oldest += 1;
        if status != 0 {
            return Err(Fault::Failed(Failed {
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

    /// Whether the other side has answered something.
    pub(super) fn has_answers(&self) -> bool {
        self.head != self.published && (self.answers != self.head || self.ring.head() != self.head)
    }

    /// Forgets all posts: the other side is gone.
    pub(super) fn abandon(&mut self) {
        self.oldest = self.newest;
        (self.cursor, self.rung) = (self.newest, self.newest);
        (self.head, self.answers, self.published) = (self.tail, self.tail, self.tail);
        (self.answered, self.filled, self.status) = (0, 0, 0);
        self.fragments_free = self.fragments_used;
    }

    fn advance(&mut self, regions: &Regions) {
        while self.cursor < self.rung {
            let post = self.posts[self.place(self.cursor)];
            loop {
                let fragment = (!post.is_inline()).then_some(self.fragments_used % FRAGMENTS);
                let fragments = self.fragments_used - self.fragments_free;
                if !self.has_slot() || (fragment.is_some() && fragments == FRAGMENTS) {
                    return;
                }
                let length = piece_length(&post, self.filled);
                // Its memory is kept as long as the post is in flight.
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
    fn fill(&mut self, post: &Pending, offset: u64, length: u64, fragment: Option<u64>, bytes: Span<'_>) {
        if post.opcode != Opcode::Read
            && let Some(payload) = self.ring.payload(self.tail, fragment, length)
        {
            bytes.copy_to(payload);
        }
        self.ring.write(
            self.tail,
            &Piece {
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
    fn place(&self, number: u64) -> usize {
        // The queue's length is a power of two.
        number as usize & (self.posts.len() - 1)
    }
}

/// Bytes of the piece of a post that begins at `offset`.
#[inline]
fn piece_length(post: &Pending, offset: u64) -> u64 {
    let most = if post.is_inline() {
        INLINE_BYTES
    } else {
        FRAGMENT_BYTES
    };
    (post.length - offset).min(most)
}
