//! What goes wrong ends the case at both sides, says why, and leaves the next case alone.

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

fn broken(faults: Faults, operation: TransferOperation) -> Pair {
    let mut pair = pair(operation, BASELINE);
    pair.break_side(Role::Initiator, &faults);
    pair
}

#[test]
fn a_lost_message_ends_at_the_deadline_and_the_next_case_is_sound() {
    let faults = Faults {
        drop_at: Some(20),
        ..Faults::default()
    };
    for operation in [Send, WriteImmediate] {
        let mut pair = broken(faults.clone(), operation);
        pair.deadline = Duration::from_millis(300);
        let (initiator, target) = pair.run(Pass::Measure, 1024);
        // Whichever side's time is up first tells the other.
        let failures = [initiator.unwrap_err(), target.unwrap_err()];
        let reasons = failures.clone().map(|failure| failure.reason);
        assert_eq!(reasons, [FailureReason::DeadlineExceeded; 2]);
        let waited = |doing: &str| failures.iter().any(|failure| failure.message.contains(doing));
        assert!(
            waited("waiting for transfers to complete") || waited("waiting for the initiator's window"),
            "{failures:?}"
        );

        pair.break_side(Role::Initiator, &Faults::default());
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
    let mut pair = broken(faults, Write);
    let (initiator, target) = pair.run(Pass::Measure, 1024);
    let failure = initiator.unwrap_err();
    assert_eq!(failure.reason, FailureReason::PostFailed);
    assert!(failure.message.contains("rail "), "{failure:?}");
    let told = target.unwrap_err();
    assert_eq!(told.reason, FailureReason::PostFailed);
    assert!(told.message.contains("the peer gave the case up"), "{told:?}");

    pair.break_side(Role::Initiator, &Faults::default());
    pair.deadline = Duration::from_millis(100);
    let again = pair.run(Pass::Measure, 1024).0.unwrap_err();
    assert!(
        again.message.contains("broken since an earlier case"),
        "{again:?}"
    );
}

#[test]
fn a_duplicated_chunk_fails_a_measured_case() {
    let faults = Faults {
        duplicate_at: Some(30),
        ..Faults::default()
    };
    let (initiator, target) = broken(faults, WriteImmediate).run(Pass::Measure, 1024);
    let failure = target.unwrap_err();
    assert_eq!(failure.reason, FailureReason::CompletionFailed);
    assert!(failure.message.contains("Duplicate"), "{failure:?}");
    assert_eq!(initiator.unwrap_err().reason, FailureReason::CompletionFailed);
}

#[test]
fn a_peer_that_never_begins_is_named_by_what_is_waited_for() {
    let mut pair = pair(Write, BASELINE);
    pair.deadline = Duration::from_millis(50);
    // The target runs another case: the numbers differ, so neither takes the other's messages for its own.
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
    };
    let failure = crate::scenario::run_case(&mut pair.initiator, &case).unwrap_err();
    assert_eq!(failure.reason, FailureReason::DeadlineExceeded);
    assert!(
        failure.message.contains("waiting for the peer to begin the case"),
        "{failure:?}"
    );
}

#[test]
fn a_size_above_the_scenario_s_is_refused() {
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
fn a_rank_that_is_not_connected_is_named() {
    let mut pair = pair(Write, BASELINE);
    pair.initiator.threads[0].peers.clear();
    pair.deadline = Duration::from_millis(50);
    let failure = pair.run(Pass::Measure, 64).0.unwrap_err();
    assert_eq!(failure.reason, FailureReason::FabricUnreachable);
    assert!(failure.message.contains("rank 1 is not connected"), "{failure:?}");
}

#[test]
fn the_probe_reaches_every_rail_and_names_a_silent_one() {
    let mut pair = pair(Write, BASELINE);
    let (initiator, target) = (&mut pair.initiator, &mut pair.target);
    let both = |initiator: &mut _, target: &mut _, deadline| {
        std::thread::scope(|scope| {
            let other = scope.spawn(move || probe(target, Role::Target, 0, deadline));
            (
                probe(initiator, Role::Initiator, 1, deadline),
                other.join().unwrap(),
            )
        })
    };
    assert_eq!(both(initiator, target, Duration::from_secs(10)), (Ok(()), Ok(())));
    let alone = probe(initiator, Role::Initiator, 1, Duration::from_millis(50)).unwrap_err();
    assert_eq!(alone.reason, FailureReason::FabricUnreachable);
    assert!(alone.message.contains("over rails [0, 1]"), "{alone:?}");
}
