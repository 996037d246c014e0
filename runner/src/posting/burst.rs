//! Plans the posts of one burst, in order, and marks the last post on each rail. Performs no I/O.
//!
//! The whole burst is planned before the first post, because the last post on each rail must ring the doorbell and is
//! not known until the plan is complete.

use crds::striping::Stripes;

use super::striping::RailRotation;
use crate::transport::Rail;

/// One post of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedPost {
    /// Index of the transfer in the burst.
    pub transfer: u32,
    /// Index of the chunk in the transfer.
    pub chunk: u32,
    /// Rail of the post.
    pub rail: Rail,
    /// Offset of the chunk in the transfer, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// Whether this is the last post of the burst on its rail.
    pub last_on_rail: bool,
}

impl PlannedPost {
    /// The only post of a burst.
    #[inline]
    pub fn only(rail: Rail, (offset, length): (u64, u64)) -> Self {
        Self {
            transfer: 0,
            chunk: 0,
            rail,
            offset,
            length,
            last_on_rail: true,
        }
    }
}

/// Posts of one burst. Planning does not allocate.
#[derive(Debug)]
pub struct Burst {
    posts: Vec<PlannedPost>,
    on_rail: Box<[RailPosts]>,
    max_transfers: u32,
    max_chunks: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct RailPosts {
    count: u64,
    last: usize,
}

impl Burst {
    /// Allocates space for `max_transfers` transfers, each striped over at most `rails` rails.
    pub fn new(max_transfers: u32, rails: usize) -> Self {
        Self {
            posts: Vec::with_capacity(max_transfers as usize * rails),
            on_rail: vec![RailPosts::default(); rails].into(),
            max_transfers,
            max_chunks: rails as u64,
        }
    }

    /// Plans a burst of `transfers` transfers, each divided into `stripes`. Transfers in excess of the maximum are
    /// ignored.
    #[inline]
    pub fn plan(&mut self, transfers: u32, stripes: Stripes, rotation: &mut RailRotation) {
        self.posts.clear();
        self.on_rail.fill(RailPosts::default());
        for transfer in 0..transfers.min(self.max_transfers) {
            if stripes.rails == 1 {
                let rail = rotation.rail(u64::from(transfer));
                self.push(transfer, 0, rail, stripes.chunk(0));
                continue;
            }
            for chunk in 0..stripes.rails.min(self.max_chunks) {
                self.push(transfer, chunk as u32, chunk as Rail, stripes.chunk(chunk));
            }
        }
        rotation.end_burst();
        for rail in self.on_rail.iter().filter(|rail| rail.count > 0) {
            self.posts[rail.last].last_on_rail = true;
        }
    }

    #[inline]
    fn push(&mut self, transfer: u32, chunk: u32, rail: Rail, (offset, length): (u64, u64)) {
        self.on_rail[rail] = RailPosts {
            count: self.on_rail[rail].count + 1,
            last: self.posts.len(),
        };
        self.posts.push(PlannedPost {
            transfer,
            chunk,
            rail,
            offset,
            length,
            last_on_rail: false,
        });
    }

    /// Number of planned posts.
    #[inline]
    pub fn len(&self) -> usize {
        self.posts.len()
    }

    /// Whether no posts are planned.
    pub fn is_empty(&self) -> bool {
        self.posts.is_empty()
    }

    /// Post at `index`, which must be below [`Burst::len`].
    #[inline]
    pub fn post(&self, index: usize) -> PlannedPost {
        self.posts[index]
    }

    /// Maximum number of posts on one rail.
    #[inline]
    pub fn max_posts_per_rail(&self) -> u64 {
        self.on_rail.iter().map(|rail| rail.count).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use crds::striping::{StripingPolicy, StripingRule};
    use proptest::prelude::*;

    use super::*;

    fn rule(policy: StripingPolicy) -> StripingRule {
        StripingRule {
            policy,
            threshold_bytes: 16 * 1024,
            min_chunk_bytes: 16 * 1024,
        }
    }

    fn planned_posts(policy: StripingPolicy, size: u64, transfers: u32, rails: usize) -> Vec<PlannedPost> {
        let mut burst = Burst::new(transfers, rails);
        let mut rotation = RailRotation::new(policy, false, rails);
        burst.plan(transfers, rule(policy).stripes(size, rails as u64), &mut rotation);
        burst.posts
    }

    #[test]
    fn stripes_a_transfer_into_one_chunk_per_rail() {
        let posts = planned_posts(StripingPolicy::Nixl, 32 * 1024, 1, 4);
        let rails: Vec<Rail> = posts.iter().map(|post| post.rail).collect();
        assert_eq!(rails, [0, 1, 2, 3]);
        assert!(posts.iter().all(|post| post.last_on_rail && post.length == 8192));
    }

    #[test]
    fn coalescing_leaves_the_last_rails_unused() {
        let posts = planned_posts(StripingPolicy::NixlCoalesce, 32 * 1024, 2, 4);
        let rails: Vec<(u32, Rail, bool)> = posts
            .iter()
            .map(|post| (post.transfer, post.rail, post.last_on_rail))
            .collect();
        assert_eq!(rails, [(0, 0, false), (0, 1, false), (1, 0, true), (1, 1, true)]);
    }

    proptest! {
        #[test]
        fn marks_exactly_the_last_post_of_each_rail(
            size in 1u64..1 << 20,
            transfers in 1u32..70,
            rails in 1usize..9,
            policy in prop::sample::select(vec![StripingPolicy::Single, StripingPolicy::Nixl, StripingPolicy::NixlCoalesce]),
        ) {
            let posts = planned_posts(policy, size, transfers, rails);
            for (index, post) in posts.iter().enumerate() {
                let another_follows = posts[index + 1..].iter().any(|later| later.rail == post.rail);
                prop_assert_eq!(post.last_on_rail, !another_follows);
            }
            for transfer in 0..transfers {
                let bytes: u64 = posts.iter().filter(|post| post.transfer == transfer).map(|post| post.length).sum();
                prop_assert_eq!(bytes, size);
            }
        }
    }
}
