//! Tests of workers that are stopped by signals, and of a record stream that is closed by its reader.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crds::record::{FailureReason, Record};
use rustix::process::{Pid, Signal, test_kill_process};

use super::gang::{Gang, eventually};
use super::plan::{assignment, endless, loopback};

/// Starts an attempt and waits until the measurement and all instruments have started.
fn start_measuring(workers: u32) -> Gang {
    let assignment = endless(assignment(workers, loopback(), 1));
    let mut gang = Gang::start(&assignment, 0..workers, &[]);
    gang.wait_for(|record| matches!(record, Record::Block(_)));
    for rank in 0..workers {
        gang.instrument(rank);
    }
    gang
}

#[test]
fn a_signal_to_the_coordinator_stops_all_workers() {
    for signal in [Signal::TERM, Signal::INT] {
        let gang = start_measuring(3);
        let start = Instant::now();
        gang.signal(0, signal);
        let finished = gang.finish();
        assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
        let failure = finished.end().failure.as_ref().unwrap();
        assert_eq!(failure.reason, FailureReason::Interrupted);
        assert_eq!(finished.statuses(), [(0, 3), (1, 3), (2, 3)]);
    }
}

#[test]
fn a_signal_to_a_worker_ends_the_attempt() {
    for workers in [2, 3] {
        let mut gang = start_measuring(workers);
        gang.signal(1, Signal::TERM);
        let ended = gang.wait_for_exit(1);
        assert_eq!(ended.status.code(), Some(3));
        assert!(ended.stderr.contains("Interrupted"), "{}", ended.stderr);
        let finished = gang.finish();
        let failure = finished.end().failure.as_ref().unwrap();
        assert_eq!(failure.reason, FailureReason::Interrupted);
        assert!(
            failure.message.contains("rank 1 was lost: stopped by SIGTERM"),
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
fn workers_exit_when_the_coordinator_dies() {
    let mut gang = start_measuring(2);
    gang.signal(0, Signal::KILL);
    gang.wait_for_exit(0);
    let ended = gang.wait_for_exit(1);
    assert_eq!(ended.status.code(), Some(3));
    assert!(
        ended
            .stderr
            .contains("PeerLost: lost the connection to the coordinator"),
        "{}",
        ended.stderr
    );
    gang.wait_for_instruments();
}

#[test]
fn the_coordinator_exits_when_its_reader_closes_the_stream() {
    let assignment = assignment(2, loopback(), 3);
    let mut gang = Gang::start(&assignment, 0..2, &[]);
    gang.wait_for(|record| matches!(record, Record::Hello(_)));
    gang.stop_reading();
    let ended = gang.wait_for_exit(0);
    assert_eq!(ended.status.code(), Some(3));
    assert!(
        ended.stderr.contains("cannot write the record stream"),
        "{}",
        ended.stderr
    );
    assert_eq!(gang.wait_for_exit(1).status.code(), Some(3));
}

#[test]
fn a_worker_exits_with_its_parent() {
    let assignment = assignment(2, loopback(), 1);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("assignment.json");
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
    // The worker sets its parent-death signal before it listens for rendezvous connections.
    eventually(|| TcpStream::connect(("127.0.0.1", assignment.rendezvous.port)).ok());
    shell.kill().unwrap();
    shell.wait().unwrap();
    eventually(|| test_kill_process(worker).is_err().then_some(()));
    // The worker still writes its end record.
    let records: Vec<_> = lines.map_while(Result::ok).collect();
    assert!(
        records.last().unwrap().contains("stopped by a signal"),
        "{records:?}"
    );
}
