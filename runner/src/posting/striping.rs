//! Assigns rails to chunks. Performs no I/O.
//!
//! A striped transfer sends chunk `i` on rail `i`, like NIXL's libfabric backend. Transfers of a single chunk rotate
//! across the rails:
//!
//! - `Nixl` and `NixlCoalesce`, for sends and writes: each group of 16 consecutive transfers in a burst uses one rail,
//!   `(base + index / 16) % rails`, where `index` is the position of the transfer in the burst, `rails` is the number
//!   of rails, and `base` advances by one per burst (as in NIXL's rail manager);
//! - `Nixl` and `NixlCoalesce`, for reads: every transfer uses the next rail;
//! - `Single`: every transfer uses the next rail.

use crds::striping::StripingPolicy;

use crate::transport::Rail;

/// Rotation of single-chunk transfers across the rails.
#[derive(Clone, Debug)]
pub struct RailRotation {
    group: u64,
    rails: u64,
    next: u64,
}

impl RailRotation {
    /// Creates a rotation across `rails` rails. `read` is true if the operation is a read.
    pub fn new(policy: StripingPolicy, read: bool, rails: usize) -> Self {
        Self {
            group: policy.group_size(read),
            rails: rails.max(1) as u64,
            next: 0,
        }
    }

    /// Rail for the only chunk of transfer `index` in the burst. Must be called in ascending order of `index`.
    #[inline]
    pub fn rail(&mut self, index: u64) -> Rail {
        if self.rails == 1 {
            return 0;
        }
        let position = if self.group > 1 {
            self.next + index / self.group
        } else {
            self.advance();
            self.next + self.rails - 1
        };
        (position % self.rails) as Rail
    }

    /// Ends the burst.
    #[inline]
    pub fn end_burst(&mut self) {
        if self.group > 1 {
            self.advance();
        }
    }

    #[inline]
    fn advance(&mut self) {
        self.next = if self.next + 1 == self.rails {
            0
        } else {
            self.next + 1
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(rotation: &mut RailRotation, transfers: u64) -> Vec<Rail> {
        let rails = (0..transfers).map(|index| rotation.rail(index)).collect();
        rotation.end_burst();
        rails
    }

    #[test]
    fn single_uses_the_next_rail_for_every_transfer() {
        let mut rotation = RailRotation::new(StripingPolicy::Single, false, 3);
        assert_eq!(burst(&mut rotation, 4), [0, 1, 2, 0]);
        assert_eq!(burst(&mut rotation, 2), [1, 2]);
    }

    #[test]
    fn nixl_posts_groups_of_sixteen_transfers_on_one_rail() {
        for policy in [StripingPolicy::Nixl, StripingPolicy::NixlCoalesce] {
            let mut rotation = RailRotation::new(policy, false, 4);
            let first = burst(&mut rotation, 40);
            assert_eq!(&first[..16], [0; 16]);
            assert_eq!(&first[16..32], [1; 16]);
            assert_eq!(&first[32..], [2; 8]);
            assert_eq!(burst(&mut rotation, 2), [1, 1]);
        }
    }

    #[test]
    fn nixl_bursts_of_one_rotate_across_the_rails() {
        let mut rotation = RailRotation::new(StripingPolicy::Nixl, false, 2);
        let rails: Vec<Rail> = (0..4).flat_map(|_| burst(&mut rotation, 1)).collect();
        assert_eq!(rails, [0, 1, 0, 1]);
    }

    #[test]
    fn nixl_reads_use_the_next_rail_for_every_transfer() {
        let mut rotation = RailRotation::new(StripingPolicy::Nixl, true, 2);
        assert_eq!(burst(&mut rotation, 3), [0, 1, 0]);
        assert_eq!(burst(&mut rotation, 1), [1]);
    }
}
