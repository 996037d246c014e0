//! Tests of workers and instruments that are killed, and of workers that never join.

use std::collections::BTreeSet;

use crds::assignment::{Assignment, BlockAssignment};
use crds::record::{CaseFailure, CaseRecord, FailureReason, Record, WarningReason};
use rustix::process::{Signal, kill_process};

use super::gang::{FinishedAttempt, Gang};
use super::plan::{assignment, endless, loopback};

#[test]
fn reports_a_worker_that_never_joins() {
    let mut assignment = assignment(3, loopback(), 1);
    assignment.rendezvous.timeout_seconds = 1;
    let finished = Gang::start(&assignment, [0, 2].into_iter(), &[]).finish();
    let failure = finished.end().failure.as_ref().unwrap();
    assert_eq!(failure.reason, FailureReason::WorkerMissing);
    assert!(
        failure.message.contains("rank 1 did not join"),
        "{}",
        failure.message
    );
    assert_eq!(finished.statuses(), [(0, 3), (2, 3)]);
    assert!(
        finished
            .stderr()
            .contains("2: fabricbench-runner: rank 2: WorkerMissing"),
        "{}",
        finished.stderr()
    );
    assert_eq!(finished.cases().len(), 0);
}

#[test]
fn killing_one_of_two_workers_ends_the_attempt_after_the_finished_blocks() {
    let mut gang = start_endless_case(endless(assignment(2, loopback(), 1)));
    gang.instrument(0);
    gang.instrument(1);
    gang.signal(1, Signal::KILL);
    let finished = gang.finish();
    let end = finished.end();
    assert_eq!((end.complete, end.blocks), (false, 1));
    let failure = end.failure.as_ref().unwrap();
    assert_eq!(failure.reason, FailureReason::PeerLost);
    assert!(failure.message.contains("rank 1 was lost"), "{}", failure.message);
    assert_eq!(finished.statuses(), [(0, 3), (1, 128 + 9)]);
    assert_eq!(finished.cases().len(), 2);
    assert_eq!(finished.failures(), Vec::new());
}

#[test]
fn a_killed_worker_fails_its_pairs_and_at_most_one_block_of_other_pairs() {
    let mut assignment = assignment(3, loopback(), 3);
    // The deadline is long enough that the worker is killed before it passes, but short enough for a test.
    assignment.case_deadline_seconds = 5;
    let mut gang = Gang::start(&assignment, 0..3, &[]);
    gang.wait_for(|record| matches!(record, Record::Block(_)));
    gang.signal(2, Signal::KILL);
    let finished = gang.finish();
    let end = finished.end();
    assert!(end.complete, "{end:?}");
    assert_eq!(finished.statuses(), [(0, 0), (1, 0), (2, 128 + 9)]);
    let (of_dead_worker, disturbed): (Vec<_>, Vec<_>) = finished
        .failures()
        .into_iter()
        .partition(|(case, _)| case.target == 2);
    assert!(!of_dead_worker.is_empty());
    for (_, failure) in of_dead_worker {
        assert_eq!(failure.reason, FailureReason::PeerLost, "{failure:?}");
    }
    // Other pairs may fail in the block during which the worker was killed. Later blocks use new instruments.
    let blocks: BTreeSet<_> = disturbed.iter().map(|(case, _)| case.block).collect();
    assert!(blocks.len() <= 1, "{disturbed:?}");
    let lost = finished.warnings(WarningReason::WorkerLost);
    assert!(
        lost.iter().any(|message| message.contains("rank 2 was lost")),
        "{lost:?}"
    );
    let of_others = finished.cases().iter().filter(|case| case.target == 1).count();
    assert_eq!(of_others, 2 * 2 * 4);
}

#[test]
fn a_killed_instrument_is_replaced_after_its_block() {
    let mut assignment = endless(assignment(2, loopback(), 2));
    let short = [0, 1].map(|round| assignment.rounds[round].blocks[0].clone());
    assignment.rounds.truncate(1);
    let blocks = &mut assignment.rounds[0].blocks;
    blocks.extend(
        (2..)
            .zip(short)
            .map(|(block, short)| BlockAssignment { block, ..short }),
    );
    let mut gang = start_endless_case(assignment);
    kill_process(gang.instrument(1), Signal::KILL).unwrap();
    let finished = gang.finish();
    failures_of_the_endless_block(&finished);
    let restarted = finished.warnings(WarningReason::EnvironmentChanged);
    assert!(
        matches!(restarted[..], [message] if message.contains("because an instrument was lost")),
        "{restarted:?}"
    );
}

#[test]
fn a_killed_instrument_does_not_affect_the_next_round() {
    let mut gang = start_endless_case(short_second_round());
    kill_process(gang.instrument(1), Signal::KILL).unwrap();
    let finished = gang.finish();
    for (case, failure) in failures_of_the_endless_block(&finished) {
        assert_eq!(
            (case.round, failure.reason),
            (0, FailureReason::PeerLost),
            "{failure:?}"
        );
        assert!(
            failure.message.contains("was killed by signal 9"),
            "{}",
            failure.message
        );
    }
}

#[test]
fn kills_a_hanging_instrument_after_the_deadline() {
    let mut gang = start_endless_case(short_second_round());
    kill_process(gang.instrument(1), Signal::STOP).unwrap();
    let finished = gang.finish();
    let killed = finished.warnings(WarningReason::Killed);
    assert!(
        matches!(killed[..], [message] if message.contains("was killed")),
        "{killed:?}"
    );
    for (case, failure) in failures_of_the_endless_block(&finished) {
        assert_eq!(
            (case.round, failure.reason),
            (0, FailureReason::DeadlineExceeded),
            "{failure:?}"
        );
    }
}

/// Returns an assignment that has an endless block only in the first round.
fn short_second_round() -> Assignment {
    let mut assignment = endless(assignment(2, loopback(), 1));
    assignment.case_deadline_seconds = 2;
    assignment.rounds[1].blocks.truncate(1);
    assignment
}

/// Starts two workers and waits until they have finished one block and are running the endless case.
fn start_endless_case(assignment: Assignment) -> Gang {
    let mut gang = Gang::start(&assignment, 0..2, &[]);
    gang.wait_for(|record| matches!(record, Record::Block(_)));
    gang
}

/// Asserts that only the two cases of the endless block failed, one per arm, and returns these failures.
fn failures_of_the_endless_block(finished: &FinishedAttempt) -> Vec<(&CaseRecord, &CaseFailure)> {
    assert!(finished.end().complete, "{:?}", finished.end());
    let failures = finished.failures();
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(failures.iter().all(|(case, _)| case.scenario == "endless"));
    failures
}
