//! How one transfer is cut into chunks, one chunk a rail. Pure.
//!
//! The rule is shared: the planner prints and checks it, the runner posts by it.

use serde::{Deserialize, Serialize};

/// The rule by which a transfer of some size is spread over rails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum StripingPolicy {
    /// One rail for each transfer; transfers take the rails in turn.
    Single,
    /// All rails from the threshold on, as NIXL's libfabric backend does.
    Nixl,
    /// As `Nixl`, but with fewer rails where a chunk would fall below the minimum chunk.
    NixlCoalesce,
}

/// A policy with its explicit numbers, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StripingRule {
    /// The rule.
    pub policy: StripingPolicy,
    /// Smallest transfer that is striped; smaller ones use one rail.
    pub threshold_bytes: u64,
    /// Smallest chunk `NixlCoalesce` makes.
    pub min_chunk_bytes: u64,
}

/// NIXL's built-in striping threshold (libfabric backend, `NIXL_LIBFABRIC_DEFAULT_STRIPING_THRESHOLD`).
pub const NIXL_THRESHOLD_BYTES: u64 = 128 * 1024;
/// Smallest chunk of the transfer coalescing procedure.
pub const COALESCE_MIN_CHUNK_BYTES: u64 = 16 * 1024;

/// The chunks of one transfer: `rails` of them, all `chunk_bytes` long but the last, which also takes
/// the remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stripes {
    /// Chunks, and with that rails, used; at least 1.
    pub rails: u64,
    /// Length of every chunk but the last, in bytes.
    pub chunk_bytes: u64,
    /// Length of the last chunk, in bytes.
    pub last_chunk_bytes: u64,
}

impl Stripes {
    /// Offset and length in bytes of chunk `index`.
    pub fn chunk(self, index: u64) -> (u64, u64) {
        let length = if index + 1 == self.rails {
            self.last_chunk_bytes
        } else {
            self.chunk_bytes
        };
        (index * self.chunk_bytes, length)
    }

    fn even(size: u64, rails: u64) -> Self {
        let chunk_bytes = size / rails;
        Self {
            rails,
            chunk_bytes,
            last_chunk_bytes: size - chunk_bytes * (rails - 1),
        }
    }
}

impl StripingRule {
    /// The chunks of a transfer of `size` bytes where `rails` rails are open.
    pub fn stripes(self, size: u64, rails: u64) -> Stripes {
        // A chunk holds a byte at least: fewer bytes than rails use fewer rails.
        let rails = rails.clamp(1, size.max(1));
        let striped = self.policy != StripingPolicy::Single && size >= self.threshold_bytes;
        if !striped {
            return Stripes::even(size, 1);
        }
        let coalesced = self.policy == StripingPolicy::NixlCoalesce && size / rails < self.min_chunk_bytes;
        let used = if coalesced {
            (size / self.min_chunk_bytes).clamp(1, rails)
        } else {
            rails
        };
        Stripes::even(size, used)
    }
}

/// Consecutive transfers of one burst that NIXL's libfabric backend posts on one rail before it takes the next, where
/// they are not striped (`nixl_libfabric_engine`, write descriptor lists).
pub const NIXL_GROUP: u64 = 16;

impl StripingPolicy {
    /// Consecutive unstriped transfers of one burst that share a rail.
    pub fn group(self) -> u64 {
        match self {
            Self::Single => 1,
            Self::Nixl | Self::NixlCoalesce => NIXL_GROUP,
        }
    }
}

/// Gives transfers of one chunk their rails, in turn: a rail for each group of a burst, and the next rail for the next
/// burst. Chunk `i` of a transfer of several chunks takes rail `i`, as in NIXL. One of these for each initiator thread
/// and arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RailRotation {
    next: u64,
    in_group: u64,
}

impl RailRotation {
    /// The rail of the next transfer of one chunk, where `rails` (at least 1) are open.
    pub fn rail(&mut self, policy: StripingPolicy, rails: u64) -> u64 {
        let rail = self.next % rails.max(1);
        self.in_group += 1;
        if self.in_group >= policy.group() {
            self.advance();
        }
        rail
    }

    /// Ends a burst: the next one takes another rail.
    pub fn end_burst(&mut self) {
        if self.in_group > 0 {
            self.advance();
        }
    }

    fn advance(&mut self) {
        self.next += 1;
        self.in_group = 0;
    }
}

impl StripingRule {
    /// Most posts that one burst of `batch` transfers of `size` bytes puts on one rail, where `rails` are open.
    pub fn posts_per_burst(self, size: u64, rails: u64, batch: u64) -> u64 {
        if self.stripes(size, rails).rails > 1 {
            return batch;
        }
        let mut rotation = RailRotation::default();
        let mut posts = vec![0_u64; usize::try_from(rails.max(1)).unwrap_or(1)];
        for _ in 0..batch {
            let rail = usize::try_from(rotation.rail(self.policy, rails)).unwrap_or(0);
            if let Some(count) = posts.get_mut(rail) {
                *count += 1;
            }
        }
        posts.into_iter().max().unwrap_or(0)
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
    fn coalescing_reduces_rails_below_sixteen_kibibytes_a_chunk() {
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
    fn nixl_stripes_over_all_rails_from_its_threshold_on() {
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
    fn unstriped_transfers_take_the_rails_in_turn() {
        let rails = |policy, batch: usize| {
            let mut rotation = RailRotation::default();
            let mut bursts = Vec::new();
            for _ in 0..2 {
                bursts.push((0..batch).map(|_| rotation.rail(policy, 4)).collect::<Vec<_>>());
                rotation.end_burst();
            }
            bursts
        };
        assert_eq!(rails(StripingPolicy::Single, 3), [[0, 1, 2], [3, 0, 1]]);
        assert_eq!(rails(StripingPolicy::Nixl, 3), [[0, 0, 0], [1, 1, 1]]);
        assert_eq!(rails(StripingPolicy::Nixl, 18)[0][15..], [0, 1, 1]);
        assert_eq!(rails(StripingPolicy::Nixl, 18)[1][0], 2);
    }

    #[test]
    fn posts_on_a_rail_follow_the_policy() {
        let posts = |policy, size, batch| rule(policy).posts_per_burst(size, 4, batch);
        assert_eq!(posts(StripingPolicy::Nixl, 32 * KIB, 8), 8);
        assert_eq!(posts(StripingPolicy::Nixl, 64, 8), 8);
        assert_eq!(posts(StripingPolicy::Nixl, 64, 20), 16);
        assert_eq!(posts(StripingPolicy::Nixl, 64, 80), 32);
        assert_eq!(posts(StripingPolicy::Single, 32 * KIB, 8), 2);
        assert_eq!(posts(StripingPolicy::Single, 32 * KIB, 1), 1);
    }

    proptest! {
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
