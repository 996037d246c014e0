//! Workers and instruments that die or never come.

use crds::record::{CaseRecord, FailureReason};
use crds::v1alpha1::State;
use rustix::process::{Signal, kill_process};

use super::manifest::{INJECT_64, LOOPBACK, NAME, SHM, run};
use super::program::{Desk, Running};
use super::stored::{Stored, blocks, streams};

/// Cases that last for so long that whatever a test does happens meanwhile.
const LONG: &str = "[{name: small, pingPong: {sizes: [64, 128], duration: 700ms}}]";
const ROUNDS: &str = "sampling: {rounds: 2, control: false}";
/// Who spins on shared memory does not see that the other side is gone.
const DEADLINE: &str = "runPolicy: {caseDeadlineSeconds: 10}";

/// A campaign of an integrity round and two others, two blocks each, that is in the second block of round 1.
fn measuring(desk: &Desk, transport: &str) -> Running {
    let manifest = run(INJECT_64, transport, LONG, &[ROUNDS, DEADLINE]);
    let mut running = Running::start(desk.run(&desk.manifest(&manifest)));
    let records = desk.run_folder(NAME).join("records.jsonl");
    running.wait_for(|_| {
        let done = streams(&records).first().map(|stream| blocks(stream).len());
        (done == Some(3)).then_some(())
    });
    running
}

#[test]
fn an_instrument_that_dies_costs_its_round() {
    an_instrument_dies(LOOPBACK);
}

#[test]
fn an_instrument_that_dies_leaves_no_shared_memory() {
    an_instrument_dies(SHM);
}

fn an_instrument_dies(transport: &str) {
    let desk = Desk::new();
    let mut running = measuring(&desk, transport);
    kill_process(running.instrument(1).id(), Signal::KILL).unwrap();
    running.end().exits(0);
    let stored = Stored::read(&desk.run_folder(NAME));
    stored.is_complete();
    let failures = stored.failures();
    assert_eq!(failures.len(), 2, "both arms: {failures:?}");
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
fn a_worker_that_dies_ends_the_run_which_can_be_resumed() {
    let desk = Desk::new();
    let mut running = measuring(&desk, SHM);
    kill_process(running.worker(1).id(), Signal::KILL).unwrap();
    let ended = running.end().exits(3);
    ended.says("worker 1 left with signal: 9");
    ended.shows("rank 1 was lost");
    let folder = desk.run_folder(NAME);
    let stored = Stored::read(&folder);
    assert_eq!(stored.status().state, Some(State::Failed));
    let failed = stored.condition("Failed");
    assert_eq!(failed.reason, "WorkerFailed");
    assert!(failed.message.contains("worker 1 left"), "{}", failed.message);
    let kept = stored.blocks()[0].clone();
    assert_eq!(kept.len(), 3);

    let manifest = run(INJECT_64, SHM, LONG, &[ROUNDS, DEADLINE]);
    Running::start(desk.resume(&desk.manifest(&manifest)))
        .end()
        .exits(0);
    let stored = Stored::read(&folder);
    stored.is_complete();
    assert_eq!(stored.blocks()[0], kept);
    assert!(stored.blocks()[1].is_disjoint(&kept));
}

/// Before the runner: rank 1 leaves at once.
const DESERT: &str = r#"case " $* " in *" --rank 1 "*) echo "no, thanks" >&2; exit 7;; esac; exec"#;

#[test]
fn a_worker_that_never_comes_is_named() {
    let desk = Desk::new();
    let manifest = desk.manifest(&run(INJECT_64, LOOPBACK, LONG, &[ROUNDS, DEADLINE]));
    let command = desk.run_by(&desk.runner(DESERT), &manifest);
    let ended = Running::start(command).end().exits(3);
    ended.says("worker 1 left with exit status: 7");
    ended.says("no, thanks");
    ended.shows("WorkerMissing");
    ended.shows("rank 1 did not come");
    let stored = Stored::read(&desk.run_folder(NAME));
    assert_eq!(stored.status().state, Some(State::Failed));
    assert_eq!(stored.cases(), Vec::<&CaseRecord>::new());
}
