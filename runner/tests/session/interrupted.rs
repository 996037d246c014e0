//! Workers that are told to stop, and a reader that goes away.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crds::record::{FailureReason, Record};
use rustix::process::{Pid, Signal, test_kill_process};

use super::gang::{Gang, eventually};
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
fn a_worker_that_is_told_to_stop_leaves_at_once_and_ends_the_attempt() {
    for workers in [2, 3] {
        let mut gang = measuring(workers);
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
                .contains("rank 1 was lost: stopped by SIGTERM"),
            "{}",
            failure.message
        );
        let others = (0..workers).filter(|rank| *rank != 1);
        assert_eq!(
            finished.statuses(),
            others.map(|rank| (rank, 3)).collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_coordinator_that_dies_takes_everyone_with_it() {
    let mut gang = measuring(2);
    gang.signal(0, Signal::KILL);
    gang.end_of(0);
    let ended = gang.end_of(1);
    assert_eq!(ended.status.code(), Some(3));
    assert!(
        ended.stderr.contains("PeerLost: lost the coordinator"),
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

#[test]
fn a_worker_that_is_to_die_with_its_parent_does() {
    let assignment = assignment(2, loopback(), 1);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("assignment.json");
    fs::write(&file, serde_json::to_vec(&assignment).unwrap()).unwrap();
    let script = format!(
        "{} worker --parent $$ --assignment {} --rank 0 & echo $!; wait",
        env!("CARGO_BIN_EXE_fabricbench-runner"),
        file.display()
    );
    let mut shell = Command::new("sh")
        .args(["-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
    let worker = lines
        .next()
        .unwrap()
        .unwrap()
        .parse()
        .ok()
        .and_then(Pid::from_raw)
        .unwrap();
    // It is tied to its parent by the time it listens at the rendezvous.
    eventually(|| TcpStream::connect(("127.0.0.1", assignment.rendezvous.port)).ok());
    shell.kill().unwrap();
    shell.wait().unwrap();
    eventually(|| test_kill_process(worker).is_err().then_some(()));
    // It said so to its last breath: the first record is whole, the last one is the end.
    let said: Vec<_> = lines.map_while(Result::ok).collect();
    assert!(said.last().unwrap().contains("stopped by a signal"), "{said:?}");
}
