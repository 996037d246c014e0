//! One post by the arm's policy: inject or not, FI_MORE or not, counted. Waiting for room is the caller's.

use crds::record::PostingCounters;

use super::doorbell::Doorbell;
use super::inject::{InjectChoice, InjectPolicy};
use super::{Burst, counters};
use crate::transport::{Post, PostError, Transport};

/// How a post was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// A completion with its token will follow.
    Ordinary,
    /// The memory is free again and no completion follows.
    Injected,
}

/// The posting policy of an arm in one case, with what it counted.
#[derive(Debug)]
pub struct Posting {
    inject: InjectPolicy,
    doorbell: Doorbell,
    counters: PostingCounters,
}

impl Posting {
    /// Policy of one case on `rails` rails, whose striping rule gives a transfer `rails_planned`.
    pub fn new(inject: InjectPolicy, doorbell: Doorbell, rails: usize, rails_planned: u64) -> Self {
        let counters = PostingCounters {
            inject_limit_bytes: inject.limit(),
            rails_planned,
            ..counters::fresh(rails)
        };
        Self {
            inject,
            doorbell,
            counters,
        }
    }

    /// What was counted since the last [`Posting::start_window`].
    pub fn counters(&self) -> &PostingCounters {
        &self.counters
    }

    /// Starts to count from zero, and asks a provider again that refused to inject.
    pub fn start_window(&mut self) {
        counters::clear(&mut self.counters);
        self.inject.forget_refusal();
    }

    /// Counts the completion of an own post.
    #[inline]
    pub fn completed(&mut self) {
        self.counters.completions += 1;
    }

    /// Counts a planned burst.
    #[inline]
    pub fn planned(&mut self, burst: &Burst) {
        self.counters.posts_per_burst = self.counters.posts_per_burst.max(burst.most_on_a_rail());
    }

    /// Posts on `rail` that wait for a doorbell.
    pub fn unrung(&self, rail: usize) -> u32 {
        self.doorbell.unrung(rail)
    }

    /// Makes one post. `post.inject` and `post.more` are set here. With `must_ring`, which the last post of a burst on
    /// its rail has and every post that was answered with EAGAIN before, it carries no FI_MORE.
    ///
    /// # Errors
    /// See [`PostError`]; after `Again` the same post is to be made again, with `must_ring`.
    #[inline]
    pub fn attempt<T: Transport>(
        &mut self,
        transport: &mut T,
        mut post: Post<'_, T::Region>,
        must_ring: bool,
    ) -> Result<Accepted, PostError> {
        let choice = self.inject.choose(post.length);
        if choice == InjectChoice::Inject {
            // An inject call takes no flags, so it always rings.
            post.inject = true;
            post.more = false;
            match transport.post(&post) {
                Ok(()) => {
                    self.counters.injected += 1;
                    self.accepted(&post);
                    return Ok(Accepted::Injected);
                }
                Err(PostError::Refused(_)) => {
                    self.counters.refused += 1;
                    self.inject.refuse();
                }
                Err(error) => return Err(self.not_taken(error)),
            }
        }
        post.inject = false;
        post.more = self.doorbell.more(post.rail, must_ring);
        transport.post(&post).map_err(|error| self.not_taken(error))?;
        if choice == InjectChoice::OverLimit {
            self.counters.over_limit += 1;
        }
        self.accepted(&post);
        Ok(Accepted::Ordinary)
    }

    #[inline]
    fn accepted<R>(&mut self, post: &Post<'_, R>) {
        self.doorbell.posted(post.rail, post.more);
        self.counters.posts += 1;
        if post.more {
            self.counters.more += 1;
        } else {
            self.counters.app_doorbells += 1;
        }
        self.counters.bytes_per_rail[post.rail] += post.length;
        self.counters.posts_per_rail[post.rail] += 1;
    }

    fn not_taken(&mut self, error: PostError) -> PostError {
        if error == PostError::Again {
            self.counters.again += 1;
        }
        error
    }
}
