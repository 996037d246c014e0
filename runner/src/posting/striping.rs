//! Which rail carries which chunk. Pure.
//!
//! A striped transfer sends chunk `i` on rail `i`, as NIXL's libfabric backend does. Transfers of one chunk take the
//! rails in turn:
//!
//! - `Nixl` and `NixlCoalesce`, posting: 16 consecutive transfers of a burst on one rail,
//!   `rail = (base + index / 16) % rails`, where the base advances by one a burst (NIXL's rail manager);
//! - the same policies, reading: the next rail for every transfer;
//! - `Single`: the next rail for every transfer.

use crds::striping::StripingPolicy;

use crate::transport::Rail;

/// Whose turn it is among the rails.
#[derive(Clone, Debug)]
pub struct RailTurns {
    group: u64,
    rails: u64,
    turn: u64,
}

impl RailTurns {
    /// Turns over `rails` rails; `read` where the operation is a read.
    pub fn new(policy: StripingPolicy, read: bool, rails: usize) -> Self {
        Self {
            group: policy.group(read),
            rails: rails.max(1) as u64,
            turn: 0,
        }
    }

    /// Rail of the one chunk of transfer `index` of the burst. To be asked in ascending order of `index`.
    #[inline]
    pub fn rail(&mut self, index: u64) -> Rail {
        let place = if self.group > 1 {
            self.turn + index / self.group
        } else {
            self.advance();
            self.turn + self.rails - 1
        };
        (place % self.rails) as Rail
    }

    /// The burst is over.
    #[inline]
    pub fn end_burst(&mut self) {
        if self.group > 1 {
            self.advance();
        }
    }

    fn advance(&mut self) {
        self.turn = if self.turn + 1 == self.rails {
            0
        } else {
            self.turn + 1
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(turns: &mut RailTurns, transfers: u64) -> Vec<Rail> {
        let rails = (0..transfers).map(|index| turns.rail(index)).collect();
        turns.end_burst();
        rails
    }

    #[test]
    fn single_takes_the_next_rail_for_every_transfer() {
        let mut turns = RailTurns::new(StripingPolicy::Single, false, 3);
        assert_eq!(burst(&mut turns, 4), [0, 1, 2, 0]);
        assert_eq!(burst(&mut turns, 2), [1, 2]);
    }

    #[test]
    fn nixl_posts_sixteen_transfers_of_a_burst_on_one_rail() {
        for policy in [StripingPolicy::Nixl, StripingPolicy::NixlCoalesce] {
            let mut turns = RailTurns::new(policy, false, 4);
            let first = burst(&mut turns, 40);
            assert_eq!(&first[..16], [0; 16]);
            assert_eq!(&first[16..32], [1; 16]);
            assert_eq!(&first[32..], [2; 8]);
            assert_eq!(burst(&mut turns, 2), [1, 1]);
        }
    }

    #[test]
    fn nixl_bursts_of_one_take_the_rails_in_turn() {
        let mut turns = RailTurns::new(StripingPolicy::Nixl, false, 2);
        let rails: Vec<Rail> = (0..4).flat_map(|_| burst(&mut turns, 1)).collect();
        assert_eq!(rails, [0, 1, 0, 1]);
    }

    #[test]
    fn nixl_reads_take_the_next_rail_for_every_transfer() {
        let mut turns = RailTurns::new(StripingPolicy::Nixl, true, 2);
        assert_eq!(burst(&mut turns, 3), [0, 1, 0]);
        assert_eq!(burst(&mut turns, 1), [1]);
    }
}
