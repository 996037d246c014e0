//! Probes every rail of every pair before the first measurement.

use std::collections::BTreeMap;
use std::io::Write;

use crds::record::{CaseFailure, FailureReason};

use super::Coordinator;
use crate::rendezvous::message::{Command, PeerCase, WorkerReport};
use crate::session::setup_failures::SetupFailures;
use crate::session::tournament::Pair;
use crate::session::{Halt, merge};

/// Usual causes of an unreachable peer.
const CAUSES: &str = "usual causes: a security group that does not allow traffic to and from itself (EFA), workers \
                      in different zones or subnets, a firewall, rails with the same index on different networks";

impl<W: Write> Coordinator<'_, W> {
    /// Probes every pair with the first usable arm of each instrument process. One arm is sufficient, because all arms
    /// of a process use the same environment, library and rails.
    ///
    /// # Errors
    /// Returns an error if no two workers can reach each other.
    pub(super) fn probe(&mut self, setup_failures: &SetupFailures) -> Result<(), Halt> {
        let mut reached = 0;
        for pairs in self.disjoint_steps.clone() {
            for process in 0..self.assignment.processes.len() as u32 {
                let probed: BTreeMap<Pair, u32> = pairs
                    .iter()
                    .filter_map(|pair| Some((*pair, self.select_probe_arm(process, *pair, setup_failures)?)))
                    .collect();
                for (pair, failure) in self.probe_pairs(&probed)? {
                    match failure {
                        None => reached += 1,
                        Some(failure) => self.unreachable.add(process, pair, failure),
                    }
                }
            }
        }
        match self.unreachable.first() {
            Some(failure) if reached == 0 => {
                let count = self.unreachable.count();
                Err(Halt::Attempt(CaseFailure {
                    reason: failure.reason,
                    message: format!(
                        "no two workers can reach each other ({count} probes failed): {}",
                        failure.message
                    ),
                }))
            }
            _ => Ok(()),
        }
    }

    fn select_probe_arm(&self, process: u32, pair: Pair, setup_failures: &SetupFailures) -> Option<u32> {
        let arms = 0..self.assignment.arms.len() as u32;
        arms.filter(|arm| self.process_of(*arm) == process)
            .find(|arm| setup_failures.get(*arm, pair).is_none())
    }

    fn probe_pairs(
        &mut self,
        probed: &BTreeMap<Pair, u32>,
    ) -> Result<Vec<(Pair, Option<CaseFailure>)>, Halt> {
        let ranks: Vec<_> = probed.keys().flat_map(|pair| pair.ranks()).collect();
        for (pair, arm) in probed {
            for (rank, peer, initiator) in pair.sides() {
                let arm = *arm;
                self.gang
                    .send(rank, Command::Probe(PeerCase { arm, peer, initiator }));
            }
        }
        let timeout = self.step_timeout();
        let mut results =
            self.gang
                .gather(&ranks, "probing its peer", timeout, |_, report| match report {
                    WorkerReport::Done { results, .. } => results.into_iter().next(),
                    _ => None,
                })?;
        self.write_warnings()?;
        let outcome = |pair: &Pair| {
            let mut failure = |rank: u32| results.remove(&rank).and_then(|result| result.flatten().err());
            let (initiator, target) = (failure(pair.initiator), failure(pair.target));
            let failure = merge::merge_failures([
                (pair.initiator, initiator.as_ref()),
                (pair.target, target.as_ref()),
            ]);
            (*pair, failure.map(|failure| unreachable_failure(*pair, failure)))
        };
        Ok(probed.keys().map(outcome).collect())
    }
}

fn unreachable_failure(pair: Pair, failure: CaseFailure) -> CaseFailure {
    let lost = [FailureReason::PeerLost, FailureReason::Interrupted].contains(&failure.reason);
    CaseFailure {
        reason: if lost {
            failure.reason
        } else {
            FailureReason::FabricUnreachable
        },
        message: format!(
            "ranks {} and {} cannot reach each other over the fabric: {}; {CAUSES}",
            pair.initiator, pair.target, failure.message
        ),
    }
}
