//! Workers that are told to stop, and a reader that goes away.

use std::time::{Duration, Instant};

use crds::record::{FailureReason, Record};
use rustix::process::Signal;

use super::gang::Gang;
use super::plan::{assignment, endless, loopback};

/// An attempt in the middle of a case, with the instruments known.
fn measuring(workers: u32) -> Gang {
    let assignment = endless(assignment(workers, loopback(), 1));
    let mut gang = Gang::start(&assignment, 0..workers, &[]);
    gang.wait_for(|record| matches!(record, Record::Block(_)));
    for rank in 0..workers {
        gang.instrument(rank);
    }
    gang
}

#[test]
fn a_coordinator_that_is_told_to_stop_ends_everyone_at_once() {
    for signal in [Signal::TERM, Signal::INT] {
        let gang = measuring(3);
        let told = Instant::now();
        gang.signal(0, signal);
        let finished = gang.finish();
        assert!(told.elapsed() < Duration::from_secs(8), "{:?}", told.elapsed());
        let failure = finished.end().failure.as_ref().unwrap();
        assert_eq!(failure.reason, FailureReason::Interrupted);
        assert_eq!(finished.statuses(), [(0, 3), (1, 3), (2, 3)]);
    }
}

#[test]
fn a_worker_that_is_told_to_stop_leaves_at_once_and_says_so() {
    let mut gang = measuring(2);
    gang.signal(1, Signal::TERM);
    let ended = gang.end_of(1);
    assert_eq!(ended.status.code(), Some(3));
    assert!(ended.stderr.contains("Interrupted"), "{}", ended.stderr);
    let finished = gang.finish();
    let failure = finished.end().failure.as_ref().unwrap();
    assert_eq!(failure.reason, FailureReason::Interrupted);
    assert!(
        failure
            .message
            .contains("rank 1 was lost: told to stop by SIGTERM"),
        "{}",
        failure.message
    );
    assert_eq!(finished.statuses(), [(0, 3)]);
}

#[test]
fn a_coordinator_that_dies_takes_everyone_with_it() {
    let mut gang = measuring(2);
    gang.signal(0, Signal::KILL);
    gang.end_of(0);
    let ended = gang.end_of(1);
    assert_eq!(ended.status.code(), Some(3));
    assert!(
        ended.stderr.contains("PeerLost: the coordinator is gone"),
        "{}",
        ended.stderr
    );
    gang.no_instrument_is_left();
}

#[test]
fn a_worker_whose_reader_is_gone_ends() {
    let assignment = assignment(2, loopback(), 3);
    let mut gang = Gang::start(&assignment, 0..2, &[]);
    gang.wait_for(|record| matches!(record, Record::Hello(_)));
    gang.stop_reading();
    let ended = gang.end_of(0);
    assert_eq!(ended.status.code(), Some(3));
    assert!(
        ended.stderr.contains("cannot write the record stream"),
        "{}",
        ended.stderr
    );
    assert_eq!(gang.end_of(1).status.code(), Some(3));
}
