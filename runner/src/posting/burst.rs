//! The posts of one burst, in order, with the last one on each rail marked. Pure.
//!
//! One pass before posting: only who has seen the whole burst knows which post on a rail must ring the doorbell.

use crds::striping::Stripes;

use super::striping::RailTurns;
use crate::transport::Rail;

/// One post of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedPost {
    /// Number of the transfer in the burst, from 0.
    pub transfer: u32,
    /// Number of the chunk in the transfer, from 0.
    pub chunk: u32,
    /// Rail it goes out on.
    pub rail: Rail,
    /// Offset in the transfer, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// Whether it is the last of the burst on its rail.
    pub last_on_rail: bool,
}

/// Room for the posts of one burst. Planning allocates nothing.
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
    /// Room for `max_transfers` transfers, each striped over at most `rails` rails.
    pub fn new(max_transfers: u32, rails: usize) -> Self {
        Self {
            posts: Vec::with_capacity(max_transfers as usize * rails),
            on_rail: vec![RailPosts::default(); rails].into(),
            max_transfers,
            max_chunks: rails as u64,
        }
    }

    /// Plans a burst of `transfers` transfers that are each cut into `stripes`; no more than there is room for.
    #[inline]
    pub fn plan(&mut self, transfers: u32, stripes: Stripes, turns: &mut RailTurns) {
        self.posts.clear();
        self.on_rail.fill(RailPosts::default());
        for transfer in 0..transfers.min(self.max_transfers) {
            if stripes.rails == 1 {
                let rail = turns.rail(u64::from(transfer));
                self.push(transfer, 0, rail, stripes.chunk(0));
                continue;
            }
            for chunk in 0..stripes.rails.min(self.max_chunks) {
                self.push(transfer, chunk as u32, chunk as Rail, stripes.chunk(chunk));
            }
        }
        turns.end_burst();
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

    /// Number of posts planned.
    #[inline]
    pub fn len(&self) -> usize {
        self.posts.len()
    }

    /// Whether nothing is planned.
    pub fn is_empty(&self) -> bool {
        self.posts.is_empty()
    }

    /// Post `index`, below [`Burst::len`].
    #[inline]
    pub fn post(&self, index: usize) -> PlannedPost {
        self.posts[index]
    }

    /// Most posts on one rail.
    #[inline]
    pub fn most_on_a_rail(&self) -> u64 {
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

    fn planned(policy: StripingPolicy, size: u64, transfers: u32, rails: usize) -> Vec<PlannedPost> {
        let mut burst = Burst::new(transfers, rails);
        let mut turns = RailTurns::new(policy, false, rails);
        burst.plan(transfers, rule(policy).stripes(size, rails as u64), &mut turns);
        burst.posts
    }

    #[test]
    fn a_striped_transfer_has_one_chunk_on_each_rail() {
        let posts = planned(StripingPolicy::Nixl, 32 * 1024, 1, 4);
        let rails: Vec<Rail> = posts.iter().map(|post| post.rail).collect();
        assert_eq!(rails, [0, 1, 2, 3]);
        assert!(posts.iter().all(|post| post.last_on_rail && post.length == 8192));
    }

    #[test]
    fn coalescing_leaves_the_upper_rails_free() {
        let posts = planned(StripingPolicy::NixlCoalesce, 32 * 1024, 2, 4);
        let rails: Vec<(u32, Rail, bool)> = posts
            .iter()
            .map(|post| (post.transfer, post.rail, post.last_on_rail))
            .collect();
        assert_eq!(rails, [(0, 0, false), (0, 1, false), (1, 0, true), (1, 1, true)]);
    }

    proptest! {
        #[test]
        fn exactly_the_last_post_of_each_rail_is_marked(
            size in 1u64..1 << 20,
            transfers in 1u32..70,
            rails in 1usize..9,
            policy in prop::sample::select(vec![StripingPolicy::Single, StripingPolicy::Nixl, StripingPolicy::NixlCoalesce]),
        ) {
            let posts = planned(policy, size, transfers, rails);
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
