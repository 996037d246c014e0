//! Setup failures: arms that failed to open, and peers that could not be connected to or reached. Performs no I/O.

use std::collections::BTreeMap;

use crds::record::CaseFailure;

use super::merge;
use super::tournament::Pair;

/// Setup failures of one round.
#[derive(Debug, Default)]
pub struct SetupFailures {
    /// Failures to open an arm, by arm and rank.
    open: BTreeMap<(u32, u32), CaseFailure>,
    /// Failures to connect, by arm, rank and peer.
    connect: BTreeMap<(u32, u32, u32), CaseFailure>,
}

impl SetupFailures {
    /// Records that `arm` failed to open its endpoints on `rank`.
    pub fn add_open(&mut self, arm: u32, rank: u32, failure: CaseFailure) {
        self.open.insert((arm, rank), failure);
    }

    /// Records that `arm` on `rank` failed to connect to `peer`.
    pub fn add_connect(&mut self, arm: u32, rank: u32, peer: u32, failure: CaseFailure) {
        self.connect.insert((arm, rank, peer), failure);
    }

    /// Whether `arm` has open endpoints on `rank`.
    pub fn is_open(&self, arm: u32, rank: u32) -> bool {
        !self.open.contains_key(&(arm, rank))
    }

    /// Failure that prevents `pair` from running `arm`.
    pub fn get(&self, arm: u32, pair: Pair) -> Option<CaseFailure> {
        let opened = pair.ranks().map(|rank| (rank, self.open.get(&(arm, rank))));
        let connected = [(pair.initiator, pair.target), (pair.target, pair.initiator)]
            .map(|(rank, peer)| (rank, self.connect.get(&(arm, rank, peer))));
        merge::merge_failures(opened).or_else(|| merge::merge_failures(connected))
    }
}

/// Pairs of workers that cannot reach each other, by instrument process. Determined once, before the first block.
#[derive(Debug, Default)]
pub struct UnreachablePairs(BTreeMap<(u32, Pair), CaseFailure>);

impl UnreachablePairs {
    /// Records that the workers of `pair` cannot reach each other through the endpoints of `process`.
    pub fn add(&mut self, process: u32, pair: Pair, failure: CaseFailure) {
        self.0.insert((process, pair), failure);
    }

    /// Failure that prevents the workers of `pair` from reaching each other through the endpoints of `process`.
    pub fn get(&self, process: u32, pair: Pair) -> Option<&CaseFailure> {
        self.0.get(&(process, pair))
    }

    /// First failure, ordered by process and pair.
    pub fn first(&self) -> Option<&CaseFailure> {
        self.0.values().next()
    }

    /// Number of recorded failures.
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
    fn a_failure_of_either_side_affects_only_its_pair() {
        let mut setup_failures = SetupFailures::default();
        setup_failures.add_open(1, 2, failure(FailureReason::NoDevice));
        setup_failures.add_connect(0, 3, 0, failure(FailureReason::OperationRejected));
        let reason = |arm, pair| setup_failures.get(arm, pair).map(|failure| failure.reason);
        assert_eq!(reason(1, Pair::new(0, 2)), Some(FailureReason::NoDevice));
        assert_eq!(reason(0, Pair::new(0, 2)), None);
        assert_eq!(reason(0, Pair::new(0, 3)), Some(FailureReason::OperationRejected));
        assert_eq!(reason(0, Pair::new(1, 3)), None);
        assert!(!setup_failures.is_open(1, 2) && setup_failures.is_open(1, 0));
    }
}
