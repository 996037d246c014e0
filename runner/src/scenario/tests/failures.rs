//! Tests that a failure ends the case on both sides, reports its cause and does not affect the next case.

use std::time::Duration;

use crds::assignment::{ArmAssignment, Pass, Workload};
use crds::record::FailureReason;
use crds::v1alpha1::TransferOperation::{self, Send, Write, WriteImmediate};

use super::fixture::{BASELINE, Pair, transfer};
use crate::scenario::{Role, probe};
use crate::test_transport::Faults;

fn pair(operation: TransferOperation, arm: ArmAssignment) -> Pair {
    Pair::new(Workload::Transfer(transfer(operation, 8, 2, 40)), arm, 2, 1 << 16)
}

fn pair_with_faults(faults: Faults, operation: TransferOperation) -> Pair {
    let mut pair = pair(operation, BASELINE);
    pair.set_faults(Role::Initiator, &faults);
    pair
}

#[test]
fn a_case_with_a_lost_message_exceeds_its_deadline_and_the_next_case_succeeds() {
    let faults = Faults {
        drop_at: Some(20),
        ..Faults::default()
    };
    for operation in [Send, WriteImmediate] {
        let mut pair = pair_with_faults(faults.clone(), operation);
        pair.deadline = Duration::from_millis(300);
        let (initiator, target) = pair.run(Pass::Measure, 1024);
        // The initiator, whose deadline passes first, notifies the target.
        let failures = [initiator.unwrap_err(), target.unwrap_err()];
        let reasons = failures.clone().map(|failure| failure.reason);
        assert_eq!(reasons, [FailureReason::DeadlineExceeded; 2]);
        assert!(
            failures[0].message.contains("waiting for transfers to complete"),
            "{failures:?}"
        );

        pair.set_faults(Role::Initiator, &Faults::default());
        pair.deadline = Duration::from_secs(20);
        for size in [64, 1024, 32 * 1024] {
            assert_eq!(pair.measure(size).0.posted.unwrap().operations, 40);
            assert_eq!(pair.check(size).1.first_mismatch, None);
        }
    }
}

#[test]
fn a_failed_post_breaks_the_endpoints() {
    let faults = Faults {
        fail_at: Some(25),
        ..Faults::default()
    };
    let mut pair = pair_with_faults(faults, Write);
    let (initiator, target) = pair.run(Pass::Measure, 1024);
    let failure = initiator.unwrap_err();
    assert_eq!(failure.reason, FailureReason::PostFailed);
    assert!(failure.message.contains("rail "), "{failure:?}");
    let notified = target.unwrap_err();
    assert_eq!(notified.reason, FailureReason::PostFailed);
    assert!(
        notified.message.contains("the peer abandoned the case"),
        "{notified:?}"
    );

    pair.set_faults(Role::Initiator, &Faults::default());
    pair.deadline = Duration::from_millis(100);
    let next = pair.run(Pass::Measure, 1024).0.unwrap_err();
    assert!(next.message.contains("broken by an earlier case"), "{next:?}");
}

#[test]
fn a_duplicated_chunk_fails_a_measured_case() {
    let faults = Faults {
        duplicate_at: Some(30),
        ..Faults::default()
    };
    let (initiator, target) = pair_with_faults(faults, WriteImmediate).run(Pass::Measure, 1024);
    let failure = target.unwrap_err();
    assert_eq!(failure.reason, FailureReason::CompletionFailed);
    assert!(failure.message.contains("Duplicate"), "{failure:?}");
    assert_eq!(initiator.unwrap_err().reason, FailureReason::CompletionFailed);
}

#[test]
fn reports_a_peer_that_does_not_start_the_case() {
    let mut pair = pair(Write, BASELINE);
    pair.deadline = Duration::from_millis(50);
    // The target does not run the case, so the initiator waits until the deadline.
    pair.target.connect(0, &pair.initiator.offer()).unwrap();
    let arm = pair.arm.clone();
    let case = crate::scenario::Case {
        number: 9,
        scenario: &pair.scenario,
        pass: Pass::Measure,
        size_bytes: 64,
        arm: &arm,
        role: Role::Initiator,
        peer_rank: 1,
        deadline: pair.deadline,
        seed: 0,
        keep_samples: false,
        site: crate::scenario::CommandSite::default(),
    };
    let failure = crate::scenario::run_case(&mut pair.initiator, &case).unwrap_err();
    assert_eq!(failure.reason, FailureReason::DeadlineExceeded);
    assert!(
        failure.message.contains("waiting for the peer to start the case"),
        "{failure:?}"
    );
}

#[test]
fn rejects_sizes_above_the_scenario_maximum() {
    let mut pair = pair(Write, BASELINE);
    for failure in [
        pair.run(Pass::Measure, 1 << 20).0,
        pair.run(Pass::Integrity, 1 << 20).1,
    ] {
        let failure = failure.unwrap_err();
        assert_eq!(failure.reason, FailureReason::InvalidAssignment);
        assert!(failure.message.contains("1048576 bytes"), "{failure:?}");
    }
}

#[test]
fn reports_a_rank_that_is_not_connected() {
    let mut pair = pair(Write, BASELINE);
    pair.initiator.threads[0].peers.clear();
    pair.deadline = Duration::from_millis(50);
    let failure = pair.run(Pass::Measure, 64).0.unwrap_err();
    assert_eq!(failure.reason, FailureReason::FabricUnreachable);
    assert!(failure.message.contains("rank 1 is not connected"), "{failure:?}");
}

#[test]
fn probe_reaches_every_rail_and_reports_silent_rails() {
    let mut pair = pair(Write, BASELINE);
    let (initiator, target) = (&mut pair.initiator, &mut pair.target);
    let probe_both = |initiator: &mut _, target: &mut _, deadline| {
        std::thread::scope(|scope| {
            let target = scope.spawn(move || probe(target, Role::Target, 0, deadline));
            (
                probe(initiator, Role::Initiator, 1, deadline),
                target.join().unwrap(),
            )
        })
    };
    assert_eq!(
        probe_both(initiator, target, Duration::from_secs(10)),
        (Ok(()), Ok(()))
    );
    let failure = probe(initiator, Role::Initiator, 1, Duration::from_millis(50)).unwrap_err();
    assert_eq!(failure.reason, FailureReason::FabricUnreachable);
    assert!(failure.message.contains("over rails [0, 1]"), "{failure:?}");
}
