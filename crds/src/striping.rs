//! Splits a transfer into chunks, one chunk per rail. Performs no I/O.
//!
//! The planner and the runner share this rule: the planner prints and checks the chunks, and the runner posts them.

use serde::{Deserialize, Serialize};

/// Policy that determines the number of rails that a transfer uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum StripingPolicy {
    /// Each transfer uses one rail. Rails are assigned round-robin.
    Single,
    /// Transfers at or above the threshold use all rails, as in NIXL's libfabric backend.
    Nixl,
    /// Same as Nixl, but with fewer rails if chunks would otherwise be smaller than the minimum chunk size.
    NixlCoalesce,
}

/// Striping policy with its thresholds, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StripingRule {
    /// Striping policy.
    pub policy: StripingPolicy,
    /// Smallest transfer that is striped. Smaller transfers use one rail.
    pub threshold_bytes: u64,
    /// Minimum chunk size for the NixlCoalesce policy.
    pub min_chunk_bytes: u64,
}

/// NIXL's built-in striping threshold (libfabric backend, `NIXL_LIBFABRIC_DEFAULT_STRIPING_THRESHOLD`).
pub const NIXL_THRESHOLD_BYTES: u64 = 128 * 1024;
/// Default minimum chunk size of the NixlCoalesce policy.
pub const COALESCE_MIN_CHUNK_BYTES: u64 = 16 * 1024;

/// Chunks of one transfer. Each chunk is `chunk_bytes` bytes long except the last, which also contains the remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stripes {
    /// Number of chunks, which equals the number of rails used. It is at least 1.
    pub rails: u64,
    /// Length of every chunk except the last, in bytes.
    pub chunk_bytes: u64,
    /// Length of the last chunk, in bytes.
    pub last_chunk_bytes: u64,
}

impl Stripes {
    /// Offset and length of chunk `index`, in bytes.
    pub fn chunk(self, index: u64) -> (u64, u64) {
        let length = if index + 1 == self.rails {
            self.last_chunk_bytes
        } else {
            self.chunk_bytes
        };
        (index * self.chunk_bytes, length)
    }

    fn split_evenly(size: u64, rails: u64) -> Self {
        let chunk_bytes = size / rails;
        Self {
            rails,
            chunk_bytes,
            last_chunk_bytes: size - chunk_bytes * (rails - 1),
        }
    }
}

impl StripingRule {
    /// Splits a transfer of `size` bytes over `rails` open rails.
    pub fn stripes(self, size: u64, rails: u64) -> Stripes {
        // A chunk has at least one byte, so a transfer with fewer bytes than rails uses fewer rails.
        let rails = rails.clamp(1, size.max(1));
        let striped = self.policy != StripingPolicy::Single && size >= self.threshold_bytes;
        if !striped {
            return Stripes::split_evenly(size, 1);
        }
        let coalesced = self.policy == StripingPolicy::NixlCoalesce && size / rails < self.min_chunk_bytes;
        let used = if coalesced {
            (size / self.min_chunk_bytes).clamp(1, rails)
        } else {
            rails
        };
        Stripes::split_evenly(size, used)
    }
}

/// Number of consecutive single-chunk transfers of a burst that NIXL's libfabric backend posts on one rail before it
/// switches to the next rail. For reads, the backend switches rails after every transfer.
pub const NIXL_GROUP: u64 = 16;

impl StripingPolicy {
    /// Number of consecutive single-chunk transfers of a burst that share a rail. `read` indicates whether the
    /// transfers are reads.
    pub fn group_size(self, read: bool) -> u64 {
        match self {
            Self::Nixl | Self::NixlCoalesce if !read => NIXL_GROUP,
            Self::Single | Self::Nixl | Self::NixlCoalesce => 1,
        }
    }
}

impl StripingRule {
    /// Maximum number of posts on one rail in a burst of `batch` transfers of `size` bytes over `rails` open rails.
    /// Chunk `i` of a striped transfer uses rail `i`; groups of single-chunk transfers are assigned to the rails
    /// round-robin.
    pub fn posts_per_burst(self, size: u64, rails: u64, batch: u64, read: bool) -> u64 {
        let rails = rails.max(1);
        if batch == 0 || self.stripes(size, rails).rails > 1 {
            return batch;
        }
        let group = self.policy.group_size(read);
        let groups = batch.div_ceil(group);
        // The first rail has the most posts. All of its groups are full, except possibly the last group of the burst.
        let groups_on_first = groups.div_ceil(rails);
        let has_last = (groups - 1).is_multiple_of(rails);
        let missing = if has_last { groups * group - batch } else { 0 };
        groups_on_first * group - missing
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KIB: u64 = 1024;

    fn rule(policy: StripingPolicy) -> StripingRule {
        StripingRule {
            policy,
            threshold_bytes: 16 * KIB,
            min_chunk_bytes: COALESCE_MIN_CHUNK_BYTES,
        }
    }

    #[test]
    fn coalescing_reduces_rails_for_chunks_below_16_kib() {
        let rails = |size| {
            let stripes = rule(StripingPolicy::NixlCoalesce).stripes(size, 4);
            (stripes.rails, stripes.chunk_bytes)
        };
        assert_eq!(rails(16 * KIB), (1, 16 * KIB));
        assert_eq!(rails(32 * KIB), (2, 16 * KIB));
        assert_eq!(rails(48 * KIB), (3, 16 * KIB));
        assert_eq!(rails(65_535), (3, 21_845));
        assert_eq!(rails(64 * KIB), (4, 16 * KIB));
        assert_eq!(rails(128 * KIB), (4, 32 * KIB));
    }

    #[test]
    fn nixl_stripes_over_all_rails_at_the_threshold() {
        assert_eq!(rule(StripingPolicy::Nixl).stripes(16 * KIB - 1, 4).rails, 1);
        assert_eq!(rule(StripingPolicy::Nixl).stripes(16 * KIB, 4).rails, 4);
        assert_eq!(
            rule(StripingPolicy::Nixl).stripes(32 * KIB, 4).chunk_bytes,
            8 * KIB
        );
        assert_eq!(rule(StripingPolicy::Single).stripes(1 << 30, 4).rails, 1);
    }

    #[test]
    fn fewer_bytes_than_rails_use_fewer_rails() {
        let all = StripingRule {
            threshold_bytes: 0,
            ..rule(StripingPolicy::Nixl)
        };
        assert_eq!(all.stripes(3, 4).rails, 3);
        assert_eq!(all.stripes(0, 4).rails, 1);
    }

    #[test]
    fn posts_on_a_rail_follow_the_policy() {
        let posts = |policy, size, batch| rule(policy).posts_per_burst(size, 4, batch, false);
        assert_eq!(posts(StripingPolicy::Nixl, 32 * KIB, 8), 8);
        assert_eq!(posts(StripingPolicy::Nixl, 64, 8), 8);
        assert_eq!(posts(StripingPolicy::Nixl, 64, 20), 16);
        assert_eq!(posts(StripingPolicy::Nixl, 64, 80), 32);
        assert_eq!(posts(StripingPolicy::Single, 32 * KIB, 8), 2);
        assert_eq!(posts(StripingPolicy::Single, 32 * KIB, 1), 1);
        assert_eq!(rule(StripingPolicy::Nixl).posts_per_burst(64, 4, 8, true), 2);
    }

    proptest! {
        #[test]
        fn posts_per_burst_matches_the_rail_with_the_most_posts(batch in 1u64..300, rails in 1u64..=64, read: bool) {
            let policy = StripingPolicy::Nixl;
            let mut posts = vec![0; rails as usize];
            for index in 0..batch {
                posts[(index / policy.group_size(read) % rails) as usize] += 1;
            }
            let maximum = rule(policy).posts_per_burst(64, rails, batch, read);
            prop_assert_eq!(Some(maximum), posts.into_iter().max());
        }

        #[test]
        fn chunks_cover_the_transfer_exactly(
            size in 0u64..1 << 34,
            rails in 1u64..=64,
            threshold in 0u64..1 << 20,
            min_chunk in 1u64..1 << 20,
            policy in prop::sample::select(vec![StripingPolicy::Single, StripingPolicy::Nixl, StripingPolicy::NixlCoalesce]),
        ) {
            let rule = StripingRule { policy, threshold_bytes: threshold, min_chunk_bytes: min_chunk };
            let stripes = rule.stripes(size, rails);
            prop_assert!(stripes.rails >= 1 && stripes.rails <= rails);
            let mut next = 0;
            for index in 0..stripes.rails {
                let (offset, length) = stripes.chunk(index);
                prop_assert_eq!(offset, next);
                next += length;
            }
            prop_assert_eq!(next, size);
        }
    }
}
