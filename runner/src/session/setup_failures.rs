//! What can run and what cannot: arms that did not open, peers that were not connected or not reached. Pure.

use std::collections::BTreeMap;

use crds::record::CaseFailure;

use super::merge;
use super::tournament::Pair;

/// Obstacles of one round.
#[derive(Debug, Default)]
pub struct SetupFailures {
    arms: BTreeMap<(u32, u32), CaseFailure>,
    peers: BTreeMap<(u32, u32, u32), CaseFailure>,
}

impl SetupFailures {
    /// Arm `arm` has no endpoints at `rank`.
    pub fn not_opened(&mut self, arm: u32, rank: u32, failure: CaseFailure) {
        self.arms.insert((arm, rank), failure);
    }

    /// Arm `arm` at `rank` has no connection to `peer`.
    pub fn not_connected(&mut self, arm: u32, rank: u32, peer: u32, failure: CaseFailure) {
        self.peers.insert((arm, rank, peer), failure);
    }

    /// Whether `arm` has endpoints at `rank`.
    pub fn is_open(&self, arm: u32, rank: u32) -> bool {
        !self.arms.contains_key(&(arm, rank))
    }

    /// Why `pair` cannot run `arm`.
    pub fn obstacle(&self, arm: u32, pair: Pair) -> Option<CaseFailure> {
        let opened = pair.ranks().map(|rank| (rank, self.arms.get(&(arm, rank))));
        let connected = [(pair.initiator, pair.target), (pair.target, pair.initiator)]
            .map(|(rank, peer)| (rank, self.peers.get(&(arm, rank, peer))));
        merge::failures(opened).or_else(|| merge::failures(connected))
    }
}

/// Pairs that a process's endpoints do not connect; found once, before the first round.
#[derive(Debug, Default)]
pub struct UnreachablePairs(BTreeMap<(u32, Pair), CaseFailure>);

impl UnreachablePairs {
    /// The endpoints of `process` do not connect `pair`.
    pub fn add(&mut self, process: u32, pair: Pair, failure: CaseFailure) {
        self.0.insert((process, pair), failure);
    }

    /// Why the endpoints of `process` do not connect `pair`.
    pub fn get(&self, process: u32, pair: Pair) -> Option<&CaseFailure> {
        self.0.get(&(process, pair))
    }

    /// The first of them.
    pub fn first(&self) -> Option<&CaseFailure> {
        self.0.values().next()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use crds::record::FailureReason;

    use super::*;

    fn failure(reason: FailureReason) -> CaseFailure {
        CaseFailure {
            reason,
            message: format!("{reason:?}"),
        }
    }

    #[test]
    fn an_obstacle_of_either_side_stops_the_pair_and_no_other() {
        let mut setup_failures = SetupFailures::default();
        setup_failures.not_opened(1, 2, failure(FailureReason::NoDevice));
        setup_failures.not_connected(0, 3, 0, failure(FailureReason::Refused));
        let reason = |arm, pair| setup_failures.obstacle(arm, pair).map(|failure| failure.reason);
        assert_eq!(reason(1, Pair::new(0, 2)), Some(FailureReason::NoDevice));
        assert_eq!(reason(0, Pair::new(0, 2)), None);
        assert_eq!(reason(0, Pair::new(0, 3)), Some(FailureReason::Refused));
        assert_eq!(reason(0, Pair::new(1, 3)), None);
        assert!(!setup_failures.is_open(1, 2) && setup_failures.is_open(1, 0));
    }
}
