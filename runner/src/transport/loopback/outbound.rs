//! The filling side of a ring: posts become pieces, answers become completions. Touches shared memory only.
//!
//! A short message goes into its slot at once. A longer one, and every one behind it, waits in a queue of fixed size
//! and goes out piece by piece, as slots and fragments come free: in the order of the posts. With `more`, slots are
//! filled and not published, and queued messages not begun, until a post without it (or a full ring) rings.

use super::layout::{FRAGMENT_BYTES, FRAGMENTS, INLINE_BYTES};
use super::region::Regions;
use super::ring::{Opcode, Piece, Ring};
use crate::transport::PostError;

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

    fn is_inline(&self) -> bool {
        self.length <= INLINE_BYTES
    }
}

/// What became of a post.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) post: Pending,
    /// 0, or the errno of what failed.
    pub(super) status: i32,
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
    /// Slots: `head..published` are with the other side, `published..tail` are filled and not published.
    head: u64,
    published: u64,
    tail: u64,
    /// Fragments in use: `fragments_free..fragments_used`.
    fragments_used: u64,
    fragments_free: u64,
}

/// The other side writes counters that it cannot have reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

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
            published: 0,
            tail: 0,
            fragments_used: 0,
            fragments_free: 0,
        }
    }

    /// Takes a post. Returns whether something was published.
    ///
    /// # Errors
    /// `Again` when the queue is full, or the ring for an inject, which cannot wait in the queue.
    #[inline]
    pub(super) fn post(&mut self, post: Pending, more: bool, regions: &Regions) -> Result<bool, PostError> {
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
            self.fill(&post, 0, post.length, None, regions);
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

    /// The next post that is done; nothing while the oldest is not.
    ///
    /// # Errors
    /// [`Broken`] when the other side's counter is impossible.
    #[inline]
    pub(super) fn reap(&mut self, regions: &Regions) -> Result<Option<Done>, Broken> {
        if self.head == self.published {
            return Ok(None);
        }
        let seen = self.ring.head();
        if seen < self.head || seen > self.published {
            return Err(Broken);
        }
        let post = self.posts[self.place(self.oldest)];
        while self.head < seen {
            let fragment = (!post.is_inline()).then_some(self.fragments_free % FRAGMENTS);
            let length = piece_length(&post, self.answered);
            let status = self.ring.status(self.head);
            if status != 0 && self.status == 0 {
                self.status = status;
            }
            if post.opcode == Opcode::Read
                && status == 0
                && let Some(bytes) = self.ring.payload(self.head, fragment, length)
                && let Some(local) = regions.local(post.region, post.offset + self.answered, length)
            {
                bytes.copy_to(local);
            }
            self.head += 1;
            self.fragments_free += u64::from(fragment.is_some());
            self.answered += length;
            if self.answered == post.length {
                let status = self.status;
                (self.answered, self.status) = (0, 0);
                self.oldest += 1;
                return Ok(Some(Done { post, status }));
            }
        }
        Ok(None)
    }

    /// Whether posts are in flight.
    pub(super) fn is_busy(&self) -> bool {
        self.oldest != self.newest
    }

    /// Whether the other side has answered something.
    pub(super) fn has_answers(&self) -> bool {
        self.head != self.published && self.ring.head() != self.head
    }

    /// Forgets all posts: the other side is gone.
    pub(super) fn abandon(&mut self) {
        self.oldest = self.newest;
        (self.cursor, self.rung) = (self.newest, self.newest);
        (self.head, self.published) = (self.tail, self.tail);
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
                self.fill(&post, self.filled, length, fragment, regions);
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
    fn fill(&mut self, post: &Pending, offset: u64, length: u64, fragment: Option<u64>, regions: &Regions) {
        if post.opcode != Opcode::Read
            && let Some(bytes) = self.ring.payload(self.tail, fragment, length)
            && let Some(local) = regions.local(post.region, post.offset + offset, length)
        {
            local.copy_to(bytes);
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
