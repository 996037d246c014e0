//! Opens the windows of all flows in the many-to-many pattern simultaneously, and keeps all flows active until the last
//! window has closed.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::time::{Duration, Instant};

use crds::record::{CaseFailure, CaseResult, FailureReason};

use super::Coordinator;
use crate::rendezvous::message::{Command, FlowCommand, FlowPhase, SideResult, WorkerReport};
use crate::session::Halt;
use crate::session::gang::PickResult;
use crate::session::merge::SideOrFailure;
use crate::session::tournament::Pair;

/// Results of the cases of pairs that ran concurrently.
pub(super) type PairResults = Vec<(Pair, CaseResult)>;

/// Results of workers, by rank. A failure means that the worker was lost.
pub(super) type ResultsByRank = BTreeMap<u32, Result<WorkerResults, CaseFailure>>;

/// Results of one worker's flows.
#[derive(Debug)]
pub(super) struct WorkerResults {
    results: VecDeque<Result<SideResult, CaseFailure>>,
    /// Evidence of the optimizations, one line each.
    pub(super) evidence: Vec<String>,
}

impl WorkerResults {
    /// Creates the results from a report. A report with a single failure applies to all flows.
    pub(super) fn new(results: Vec<Result<SideResult, CaseFailure>>, evidence: Vec<String>) -> Self {
        Self {
            results: results.into(),
            evidence,
        }
    }

    /// Removes and returns the result of the next flow; `None` if there are no more results.
    pub(super) fn next_result(&mut self) -> Option<SideOrFailure> {
        match (self.results.len(), self.results.front()) {
            (1, Some(Err(failure))) => Some(Err(failure.clone())),
            _ => self.results.pop_front(),
        }
    }
}

impl<W: Write> Coordinator<'_, W> {
    /// Controls the running flows of the workers in `ranks`, each of whose phases may take `timeout`. Returns the time in
    /// nanoseconds from the command that opened the windows to the report that the last one had closed. If a flow fails, all
    /// flows are abandoned, and `None` is returned. Results that arrive in the meantime are added to `done`.
    pub(super) fn control_flows(
        &mut self,
        ranks: &[u32],
        timeout: Duration,
        done: &mut ResultsByRank,
    ) -> Result<Option<u64>, Halt> {
        let await_phase =
            |this: &mut Self, phase, done: &mut ResultsByRank| this.await_phase(ranks, phase, timeout, done);
        let mut span_nanos = None;
        let mut is_active = await_phase(self, FlowPhase::Ready, done)?;
        if is_active {
            self.send_to_flows(ranks, FlowCommand::Start);
            is_active = await_phase(self, FlowPhase::Active, done)?;
        }
        if is_active {
            let opened = Instant::now();
            self.send_to_flows(ranks, FlowCommand::Measure);
            if await_phase(self, FlowPhase::Measured, done)? {
                span_nanos = u64::try_from(opened.elapsed().as_nanos()).ok();
            }
        }
        let last = match span_nanos {
            Some(_) => FlowCommand::Finish,
            None => FlowCommand::Abandon,
        };
        let running: Vec<u32> = ranks
            .iter()
            .copied()
            .filter(|rank| !done.contains_key(rank))
            .collect();
        self.send_to_flows(&running, last);
        Ok(span_nanos)
    }

    fn send_to_flows(&mut self, ranks: &[u32], command: FlowCommand) {
        for rank in ranks {
            self.gang.send(*rank, Command::Flows(command));
        }
    }

    /// Waits at most `timeout` until all flows have reached `phase`. Returns `false` as soon as a flow has failed.
    fn await_phase(
        &mut self,
        ranks: &[u32],
        phase: FlowPhase,
        timeout: Duration,
        done: &mut ResultsByRank,
    ) -> Result<bool, Halt> {
        let task = match phase {
            FlowPhase::Ready => "preparing its flows",
            FlowPhase::Active => "starting its flows",
            FlowPhase::Measured | FlowPhase::Failed => "measuring its flows",
        };
        let mut failed = false;
        let pick = |rank, report| match report {
            WorkerReport::Reached(FlowPhase::Failed) => {
                failed = true;
                PickResult::Stop
            }
            WorkerReport::Reached(reached) if reached >= phase => PickResult::Response(()),
            // A worker finishes before this phase only if it failed.
            WorkerReport::Done { results, evidence } => {
                done.insert(rank, Ok(WorkerResults::new(results, evidence)));
                failed = true;
                PickResult::Stop
            }
            _ => PickResult::Ignored,
        };
        let reached = self.gang.gather_until(ranks, task, timeout, pick)?;
        Ok(!failed && reached.values().all(Result::is_ok))
    }
}

/// If one of `flows` has a failure, adds a failure for each of the others, because flows can only run together.
pub(super) fn fail_all(flows: &[Pair], failures: &mut BTreeMap<Pair, CaseFailure>) {
    let first = failures
        .iter()
        .next()
        .map(|(flow, failure)| dependent_failure(*flow, failure));
    if let Some(dependent_failure) = first {
        for flow in flows {
            failures.entry(*flow).or_insert_with(|| dependent_failure.clone());
        }
    }
}

/// Replaces the failures of flows that were abandoned because another flow failed, so that they name the cause.
pub(super) fn name_cause(results: &mut [(Pair, CaseResult)]) {
    let cause = results.iter().find_map(|(flow, result)| match result {
        CaseResult::Failed(failure) if failure.reason != FailureReason::Interrupted => {
            Some(dependent_failure(*flow, failure))
        }
        _ => None,
    });
    let Some(cause) = cause else { return };
    for (_, result) in results {
        if let CaseResult::Failed(failure) = result
            && failure.reason == FailureReason::Interrupted
        {
            *failure = cause.clone();
        }
    }
}

/// Failure recorded for the flows that cannot be measured because `flow` failed.
fn dependent_failure(flow: Pair, failure: &CaseFailure) -> CaseFailure {
    CaseFailure {
        reason: failure.reason,
        message: format!(
            "the flow from rank {} to rank {}, which must be active at the same time, failed: {}",
            flow.initiator, flow.target, failure.message
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(reason: FailureReason) -> CaseFailure {
        CaseFailure {
            reason,
            message: format!("{reason:?}"),
        }
    }

    #[test]
    fn one_failure_fails_all_flows_and_names_the_cause() {
        let flows = [Pair::new(0, 2), Pair::new(1, 2)];
        let mut failures = BTreeMap::new();
        fail_all(&flows, &mut failures);
        assert_eq!(failures.len(), 0);
        failures.insert(flows[1], failure(FailureReason::NoDevice));
        fail_all(&flows, &mut failures);
        assert_eq!(failures[&flows[0]].reason, FailureReason::NoDevice);
        assert!(
            failures[&flows[0]]
                .message
                .starts_with("the flow from rank 1 to rank 2, ")
        );
        assert_eq!(failures[&flows[1]], failure(FailureReason::NoDevice));
    }

    #[test]
    fn abandoned_flows_name_the_flow_that_failed() {
        let failed = |reason| CaseResult::Failed(failure(reason));
        let mut results = vec![
            (Pair::new(0, 2), failed(FailureReason::Interrupted)),
            (Pair::new(1, 2), failed(FailureReason::PeerLost)),
        ];
        name_cause(&mut results);
        let CaseResult::Failed(abandoned) = &results[0].1 else {
            panic!("{results:?}");
        };
        assert_eq!(abandoned.reason, FailureReason::PeerLost);
        assert!(abandoned.message.ends_with("failed: PeerLost"), "{abandoned:?}");
        assert_eq!(results[1].1, failed(FailureReason::PeerLost));
    }

    #[test]
    fn a_single_failure_applies_to_all_flows_of_a_worker() {
        let mut finished = WorkerResults::new(vec![Err(failure(FailureReason::PeerLost))], Vec::new());
        assert!(finished.next_result().is_some_and(|result| result.is_err()));
        assert!(finished.next_result().is_some_and(|result| result.is_err()));
        let mut finished = WorkerResults::new(
            vec![Ok(SideResult::Reached), Err(failure(FailureReason::PeerLost))],
            Vec::new(),
        );
        assert!(finished.next_result().is_some_and(|result| result.is_ok()));
        assert!(finished.next_result().is_some_and(|result| result.is_err()));
    }
}
