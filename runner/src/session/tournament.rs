//! Who meets whom, and when: a round-robin tournament by the circle method. Pure.

/// Two workers that exchange bytes. The lower rank is the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// Rank of the initiator.
    pub initiator: u32,
    /// Rank of the target.
    pub target: u32,
}

impl Pair {
    /// The pair of two different ranks, in either order.
    pub fn new(one: u32, other: u32) -> Self {
        Self {
            initiator: one.min(other),
            target: one.max(other),
        }
    }

    /// Whether `rank` is one of the two.
    pub fn has(self, rank: u32) -> bool {
        self.initiator == rank || self.target == rank
    }

    /// Each side: its rank, its peer's, and whether it is the initiator.
    pub fn sides(self) -> [(u32, u32, bool); 2] {
        [
            (self.initiator, self.target, true),
            (self.target, self.initiator, false),
        ]
    }

    /// The two ranks, the initiator first.
    pub fn ranks(self) -> [u32; 2] {
        [self.initiator, self.target]
    }
}

/// The steps of a tournament of `workers` workers: in each step the pairs are disjoint and may run at the same time,
/// and over all steps every pair occurs exactly once. With an odd number one worker rests in every step.
///
/// The circle method (M. G. Kirkman, 1847): one player stays, the others turn by one place a step, and opposite
/// places meet.
pub fn tournament(workers: u32) -> Vec<Vec<Pair>> {
    if workers < 2 {
        return Vec::new();
    }
    let seats = workers.next_multiple_of(2);
    let turning = seats - 1;
    (0..turning)
        .map(|step| {
            let at = |place: u32| {
                if place == 0 {
                    turning
                } else {
                    (step + place) % turning
                }
            };
            (0..seats / 2)
                .map(|place| Pair::new(at(place), at(turning - place)))
                // The seat of an odd number that nobody has.
                .filter(|pair| pair.target < workers)
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_workers_meet_once() {
        assert_eq!(tournament(2), [[Pair::new(1, 0)]]);
    }

    proptest! {
        #[test]
        fn every_pair_meets_once_and_no_one_twice_in_a_step(workers in 2u32..=64) {
            let steps = tournament(workers);
            prop_assert_eq!(steps.len() as u32, workers.next_multiple_of(2) - 1);
            let mut met = HashSet::new();
            for step in &steps {
                let mut busy = HashSet::new();
                for pair in step {
                    prop_assert!(pair.initiator < pair.target && pair.target < workers);
                    prop_assert!(pair.ranks().into_iter().all(|rank| busy.insert(rank)));
                    prop_assert!(met.insert(*pair));
                }
                prop_assert_eq!(busy.len() as u32, workers / 2 * 2);
            }
            prop_assert_eq!(met.len() as u32, workers * (workers - 1) / 2);
        }
    }
}
