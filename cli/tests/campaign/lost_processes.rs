//! Workers and instruments that are killed or do not start.

use crds::record::{CaseRecord, FailureReason};
use crds::v1alpha1::State;
use rustix::process::{Signal, kill_process};

use super::harness::{RunningCommand, TestDir};
use super::manifest::{INJECT_64, LOOPBACK, NAME, SHM, run};
use super::stored_run::{StoredRun, blocks, streams};

/// Cases that last long enough for a test to intervene.
const LONG: &str = "[{name: small, pingPong: {sizes: [64, 128], duration: 700ms}}]";
const ROUNDS: &str = "sampling: {rounds: 2, control: false}";
/// A process that busy-polls shared memory does not notice when its peer exits, so cases need a deadline.
const DEADLINE: &str = "runPolicy: {caseDeadlineSeconds: 3}";

/// Starts a campaign with an integrity round and two measured rounds of two blocks each. Returns during the second
/// block of round 1.
fn start_measuring(dir: &TestDir, transport: &str) -> RunningCommand {
    let manifest = run(INJECT_64, transport, LONG, &[ROUNDS, DEADLINE]);
    let mut running = RunningCommand::start(dir.run(&dir.manifest(&manifest)));
    let records = dir.run_dir(NAME).join("records.jsonl");
    running.wait_for(|_| {
        let done = streams(&records).first().map(|stream| blocks(stream).len());
        (done == Some(3)).then_some(())
    });
    running
}

#[test]
fn killed_instrument_invalidates_its_round() {
    check_killed_instrument(LOOPBACK);
}

#[test]
fn killed_instrument_leaves_no_shared_memory() {
    check_killed_instrument(SHM);
}

fn check_killed_instrument(transport: &str) {
    let dir = TestDir::new();
    let mut running = start_measuring(&dir, transport);
    kill_process(running.instrument(1).id(), Signal::KILL).unwrap();
    running.wait().expect_code(0);
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    let failures = stored.failures();
    assert_eq!(failures.len(), 2, "expected failures of both arms: {failures:?}");
    for (case, failure) in &failures {
        assert_eq!(
            (case.round, failure.reason),
            (1, FailureReason::PeerLost),
            "{failure:?}"
        );
    }
    let lost = failures[0].0.size_bytes;
    for result in &stored.status().results {
        let rounds = if result.size_bytes == lost { 1 } else { 2 };
        assert_eq!(result.valid_rounds, rounds, "{result:?}");
    }
}

#[test]
fn run_with_a_killed_worker_stops_and_can_be_resumed() {
    let dir = TestDir::new();
    let mut running = start_measuring(&dir, SHM);
    kill_process(running.worker(1).id(), Signal::KILL).unwrap();
    let output = running.wait().expect_code(3);
    output.expect_stderr("worker 1 terminated with signal: 9");
    output.expect_stdout("rank 1 was lost");
    let directory = dir.run_dir(NAME);
    let stored = StoredRun::read(&directory);
    assert_eq!(stored.status().state, Some(State::Failed));
    let failed = stored.condition("Failed");
    assert_eq!(failed.reason, "WorkerFailed");
    assert!(
        failed.message.contains("worker 1 terminated"),
        "{}",
        failed.message
    );
    let kept = stored.blocks()[0].clone();
    assert_eq!(kept.len(), 3);

    let manifest = run(INJECT_64, SHM, LONG, &[ROUNDS, DEADLINE]);
    RunningCommand::start(dir.resume(&dir.manifest(&manifest)))
        .wait()
        .expect_code(0);
    let stored = StoredRun::read(&directory);
    stored.assert_complete();
    assert_eq!(stored.blocks()[0], kept);
    assert!(stored.blocks()[1].is_disjoint(&kept));
}

/// Shell code that precedes the runner's command line and makes rank 1 exit immediately.
const EXIT_RANK_1: &str = r#"case " $* " in *" --rank 1 "*) echo "no, thanks" >&2; exit 7;; esac; exec"#;

#[test]
fn reports_a_worker_that_does_not_start() {
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(INJECT_64, LOOPBACK, LONG, &[ROUNDS, DEADLINE]));
    let command = dir.run_with(&dir.runner(EXIT_RANK_1), &manifest);
    let mut running = RunningCommand::start(command);
    // The coordinator waits 30 s for the other worker.
    running.release_machine();
    let output = running.wait().expect_code(3);
    output.expect_stderr("worker 1 terminated with exit status: 7");
    output.expect_stderr("no, thanks");
    output.expect_stdout("WorkerMissing");
    output.expect_stdout("rank 1 did not join");
    let stored = StoredRun::read(&dir.run_dir(NAME));
    assert_eq!(stored.status().state, Some(State::Failed));
    assert_eq!(stored.cases(), Vec::<&CaseRecord>::new());
}
