//! Posts one chunk according to the arm's policy, with or without inject and FI_MORE, and counts the post. The caller
//! must wait for queue space.

use crds::record::PostingCounters;

use super::counters;
use super::doorbell::Doorbell;
use super::inject::{InjectChoice, InjectPolicy};
use crate::transport::{Post, PostError, Transport};

/// Call that accepted a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostPath {
    /// The ordinary call. A completion with the post's token follows.
    Ordinary,
    /// The inject call. The memory is reusable, and no completion follows.
    Injected,
}

/// An arm's posting policy in one case, with its counters.
#[derive(Debug)]
pub struct Posting {
    inject: InjectPolicy,
    doorbell: Doorbell,
    counters: PostingCounters,
}

impl Posting {
    /// Creates the policy of one case that uses `rails` rails.
    ///
    /// The case's striping rule uses `rails_planned` rails per transfer.
    pub fn new(inject: InjectPolicy, doorbell: Doorbell, rails: usize, rails_planned: u64) -> Self {
        let counters = PostingCounters {
            inject_limit_bytes: inject.limit(),
            rails_planned,
            ..counters::zeroed(rails)
        };
        Self {
            inject,
            doorbell,
            counters,
        }
    }

    /// Counters since the last [`Posting::start_window`].
    pub fn counters(&self) -> &PostingCounters {
        &self.counters
    }

    /// Resets the counters, and allows inject calls again if the provider has rejected one.
    pub fn start_window(&mut self) {
        counters::clear(&mut self.counters);
        self.inject.clear_rejection();
    }

    /// Counts the completion of one of this side's posts.
    #[inline]
    pub fn record_completion(&mut self) {
        self.counters.completions += 1;
    }

    /// Counts a burst of at most `posts_per_rail` posts on one rail.
    #[inline]
    pub fn record_burst(&mut self, posts_per_rail: u64) {
        self.counters.posts_per_burst = self.counters.posts_per_burst.max(posts_per_rail);
    }

    /// Number of posts on `rail` that are waiting for a doorbell.
    pub fn awaiting_doorbell(&self, rail: usize) -> u32 {
        self.doorbell.awaiting_doorbell(rail)
    }

    /// Sets `post.inject` and `post.more`, and tries to post once.
    ///
    /// If `must_ring` is true, the post does not carry FI_MORE. The caller must set `must_ring` for the last post of a
    /// burst on its rail and for a post that is retried after EAGAIN.
    ///
    /// # Errors
    /// See [`PostError`]. After `Again`, the caller retries the same post with `must_ring`.
    #[inline]
    pub fn attempt<T: Transport>(
        &mut self,
        transport: &mut T,
        mut post: Post<'_, T::Region>,
        must_ring: bool,
    ) -> Result<PostPath, PostError> {
        let choice = self.inject.choose(post.length);
        if choice == InjectChoice::Inject {
            // An inject call takes no flags, so it always rings the doorbell.
            post.inject = true;
            post.more = false;
            match transport.post(&post) {
                Ok(()) => {
                    self.counters.injected += 1;
                    self.count_accepted(&post);
                    return Ok(PostPath::Injected);
                }
                Err(PostError::Refused(_)) => {
                    self.counters.refused += 1;
                    self.inject.record_rejection();
                }
                Err(error) => return Err(self.count_error(error)),
            }
        }
        post.inject = false;
        post.more = self.doorbell.carries_more(post.rail, must_ring);
        transport.post(&post).map_err(|error| self.count_error(error))?;
        if choice == InjectChoice::OverLimit {
            self.counters.over_limit += 1;
        }
        self.count_accepted(&post);
        Ok(PostPath::Ordinary)
    }

    #[inline]
    fn count_accepted<R>(&mut self, post: &Post<'_, R>) {
        self.doorbell.record_post(post.rail, post.more);
        self.counters.posts += 1;
        if post.more {
            self.counters.more += 1;
        } else {
            self.counters.app_doorbells += 1;
        }
        self.counters.bytes_per_rail[post.rail] += post.length;
        self.counters.posts_per_rail[post.rail] += 1;
    }

    fn count_error(&mut self, error: PostError) -> PostError {
        if error == PostError::Again {
            self.counters.again += 1;
        }
        error
    }
}
