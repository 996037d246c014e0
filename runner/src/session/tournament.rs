//! Schedules of pairs in steps of disjoint pairs: a round-robin tournament using the circle method, and the flows of
//! the many-to-many pattern. Performs no I/O.

use crds::v1alpha1::ManyToMany;

/// Two workers that exchange data. The lower rank is the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// Initiator rank.
    pub initiator: u32,
    /// Target rank.
    pub target: u32,
}

impl Pair {
    /// Creates the pair of two different ranks, which may be given in either order.
    pub fn new(first: u32, second: u32) -> Self {
        Self {
            initiator: first.min(second),
            target: first.max(second),
        }
    }

    /// Whether `rank` belongs to the pair.
    pub fn contains(self, rank: u32) -> bool {
        self.initiator == rank || self.target == rank
    }

    /// Both sides, each with its own rank, its peer's rank, and whether it is the initiator.
    pub fn sides(self) -> [(u32, u32, bool); 2] {
        [
            (self.initiator, self.target, true),
            (self.target, self.initiator, false),
        ]
    }

    /// The two ranks, starting with the initiator.
    pub fn ranks(self) -> [u32; 2] {
        [self.initiator, self.target]
    }
}

/// Returns the steps of a tournament between `workers` workers.
///
/// The pairs of a step are disjoint and may run at the same time, and every pair occurs in exactly one step. If the
/// number of workers is odd, one worker is idle in every step.
///
/// Uses the circle method (T. P. Kirkman, 1847): one player keeps its position, the others rotate by one position per
/// step, and players at opposite positions form a pair.
pub fn tournament(workers: u32) -> Vec<Vec<Pair>> {
    if workers < 2 {
        return Vec::new();
    }
    let positions = workers.next_multiple_of(2);
    let rotating = positions - 1;
    (0..rotating)
        .map(|step| {
            let player_at = |position: u32| {
                if position == 0 {
                    rotating
                } else {
                    (step + position) % rotating
                }
            };
            (0..positions / 2)
                .map(|position| Pair::new(player_at(position), player_at(rotating - position)))
                // If the number of workers is odd, the last position is empty.
                .filter(|pair| pair.target < workers)
                .collect()
        })
        .collect()
}

/// Returns the flows of `pattern`, ordered by sender and receiver.
pub fn flows(pattern: ManyToMany) -> Vec<Pair> {
    let flows = pattern.flows();
    flows
        .map(|(initiator, target)| Pair { initiator, target })
        .collect()
}

/// Returns the flows of `pattern` in steps of disjoint pairs. In each step, the larger side is shifted by one position
/// relative to the smaller side.
pub fn disjoint_flows(pattern: ManyToMany) -> Vec<Vec<Pair>> {
    let steps = pattern.max_flows_of_a_worker();
    let in_step = |step: u32| {
        let flows = flows(pattern).into_iter();
        let is_in_step = |flow: &Pair| {
            let receiver = flow.target - pattern.senders;
            (flow.initiator + receiver) % steps == step
        };
        flows.filter(is_in_step).collect()
    };
    (0..steps).map(in_step).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pairs_two_workers_once() {
        assert_eq!(tournament(2), [[Pair::new(1, 0)]]);
    }

    proptest! {
        #[test]
        fn every_flow_occurs_once_and_steps_are_disjoint(senders in 1u32..=12, receivers in 1u32..=12) {
            let pattern = ManyToMany { senders, receivers };
            let steps = disjoint_flows(pattern);
            prop_assert_eq!(steps.len() as u32, senders.max(receivers));
            let mut seen = HashSet::new();
            for step in &steps {
                let mut busy = HashSet::new();
                for pair in step {
                    prop_assert!(pair.ranks().into_iter().all(|rank| busy.insert(rank)));
                    prop_assert!(seen.insert(*pair));
                }
            }
            prop_assert_eq!(seen.len() as u64, pattern.flow_count());
        }

        #[test]
        fn every_pair_occurs_once_and_steps_are_disjoint(workers in 2u32..=64) {
            let steps = tournament(workers);
            prop_assert_eq!(steps.len() as u32, workers.next_multiple_of(2) - 1);
            let mut seen = HashSet::new();
            for step in &steps {
                let mut busy = HashSet::new();
                for pair in step {
                    prop_assert!(pair.initiator < pair.target && pair.target < workers);
                    prop_assert!(pair.ranks().into_iter().all(|rank| busy.insert(rank)));
                    prop_assert!(seen.insert(*pair));
                }
                prop_assert_eq!(busy.len() as u32, workers / 2 * 2);
            }
            prop_assert_eq!(seen.len() as u32, workers * (workers - 1) / 2);
        }
    }
}
