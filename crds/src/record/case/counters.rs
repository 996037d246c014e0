//! Posting counters of a worker.

use serde::{Deserialize, Serialize};

/// Posting counters of one worker in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PostingCounters {
    /// Number of posted chunks.
    pub posts: u64,
    /// Number of chunks posted by inject calls that the provider accepted.
    pub injected: u64,
    /// Number of chunks that were not injected because they exceed the inject limit of the arm or the provider.
    pub over_limit: u64,
    /// Number of inject calls that the provider rejected.
    pub refused: u64,
    /// Effective inject limit for this operation, in bytes: the smaller of the arm's and the provider's limits.
    /// Unset for an arm without inject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject_limit_bytes: Option<u64>,
    /// Number of posts with FI_MORE.
    pub more: u64,
    /// Number of posts without FI_MORE. Each of them requests a doorbell.
    pub app_doorbells: u64,
    /// Maximum number of posts on one rail in one burst.
    pub posts_per_burst: u64,
    /// Number of posts for which the provider returned EAGAIN.
    pub again: u64,
    /// Number of completions of local posts that were read from the completion queues.
    pub completions: u64,
    /// Number of rails that each transfer uses according to the striping rule.
    pub rails_planned: u64,
    /// Number of rails that carried data.
    pub rails_used: u64,
    /// Number of payload bytes posted on each rail.
    pub bytes_per_rail: Vec<u64>,
    /// Number of chunks posted on each rail.
    pub posts_per_rail: Vec<u64>,
}

impl PostingCounters {
    /// Adds the counters of another thread of the same arm. Counts are summed, except that the smaller inject limit and
    /// the larger values of `posts_per_burst`, `rails_planned` and `rails_used` are kept. Allocates only if `other` has
    /// more rails.
    pub fn merge(&mut self, other: &Self) {
        // The pattern lists every field, so that the compiler reports a new counter that is not merged.
        let Self {
            posts,
            injected,
            over_limit,
            refused,
            inject_limit_bytes,
            more,
            app_doorbells,
            posts_per_burst,
            again,
            completions,
            rails_planned,
            rails_used,
            bytes_per_rail,
            posts_per_rail,
        } = other;
        self.posts += posts;
        self.injected += injected;
        self.over_limit += over_limit;
        self.refused += refused;
        self.inject_limit_bytes = match (self.inject_limit_bytes, *inject_limit_bytes) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.more += more;
        self.app_doorbells += app_doorbells;
        self.posts_per_burst = self.posts_per_burst.max(*posts_per_burst);
        self.again += again;
        self.completions += completions;
        self.rails_planned = self.rails_planned.max(*rails_planned);
        self.rails_used = self.rails_used.max(*rails_used);
        add_elementwise(&mut self.bytes_per_rail, bytes_per_rail);
        add_elementwise(&mut self.posts_per_rail, posts_per_rail);
    }
}

fn add_elementwise(sum: &mut Vec<u64>, other: &[u64]) {
    sum.resize(sum.len().max(other.len()), 0);
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
}
