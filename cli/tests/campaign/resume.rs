//! `fabricbench run --resume`.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crds::assignment::Pass;
use crds::quantity::Quantity;
use crds::record::Record;
use crds::v1alpha1::State;
use rustix::process::Signal;

use super::harness::{RunningCommand, TestDir, fabricbench};
use super::manifest::{INJECT_64, NAME, SHM, run};
use super::stored_run::{self, StoredRun, blocks, streams};

/// Number of blocks in the run: two sizes in one integrity round and four measured rounds.
const BLOCKS: u32 = 2 * 5;
const SCENARIOS: &str = "[{name: small, pingPong: {sizes: [64, 256], duration: 150ms}}]";

fn manifest(rounds: u32, last_size: u32) -> String {
    let scenarios = SCENARIOS.replace("256", &last_size.to_string());
    run(
        INJECT_64,
        SHM,
        &scenarios,
        &[&format!("sampling: {{rounds: {rounds}}}")],
    )
}

/// Starts a campaign and returns when it has finished some but not all blocks.
fn partially_measured(dir: &TestDir) -> RunningCommand {
    start_until(dir, &manifest(4, 256), 4)
}

/// Starts a campaign and returns when it has finished `count` blocks.
fn start_until(dir: &TestDir, manifest: &str, count: usize) -> RunningCommand {
    finish_blocks(dir, dir.run(&dir.manifest(manifest)), count)
}

/// Starts `command` and returns when its campaign has finished `count` blocks.
fn finish_blocks(dir: &TestDir, command: Command, count: usize) -> RunningCommand {
    let mut running = RunningCommand::start(command);
    let records = dir.run_dir(NAME).join("records.jsonl");
    running.wait_for(|_| {
        let done = streams(&records).first().map(|stream| blocks(stream).len());
        (done >= Some(count)).then_some(())
    });
    running
}

/// Resumes the run. Checks that only missing blocks are measured and that the results include the blocks of both
/// attempts.
fn check_resume(dir: &TestDir) {
    let directory = dir.run_dir(NAME);
    let before = streams(&directory.join("records.jsonl"));
    let kept = blocks(&before[0]);
    assert!((4..BLOCKS as usize).contains(&kept.len()), "{kept:?}");

    let command = dir.resume(&dir.manifest(&manifest(4, 256)));
    let output = RunningCommand::start(command).wait().expect_code(0);
    output.expect_stderr(&format!("{}/{BLOCKS} blocks", kept.len()));
    output.expect_stderr(&format!("{BLOCKS}/{BLOCKS} blocks"));
    let stored = StoredRun::read(&directory);
    stored.assert_complete();
    assert_eq!(stored.streams[0], before[0], "the earlier records changed");
    let added = stored.blocks()[1].clone();
    assert!(added.is_disjoint(&kept), "measured twice: {added:?} {kept:?}");
    assert_eq!(&added | &kept, (0..BLOCKS).collect::<BTreeSet<_>>());
    for result in &stored.status().results {
        assert_eq!(result.valid_rounds, 4, "{result:?}");
    }
}

#[test]
fn resumes_after_sigkill() {
    let dir = TestDir::new();
    let running = partially_measured(&dir);
    running.signal(Signal::KILL);
    running.wait().expect_signal(Signal::KILL);
    assert_eq!(
        stored_run::run(&dir.run_dir(NAME)).status.unwrap().state,
        Some(State::Running),
        "a killed process cannot update the state"
    );
    let report = fabricbench(["report", &dir.run_dir(NAME).display().to_string()]);
    let output = RunningCommand::start(report).wait().expect_code(3);
    output.expect_stdout("run.json shows 0 measured blocks, but the records contain");
    check_resume(&dir);
}

#[test]
fn resumes_after_ctrl_c() {
    let dir = TestDir::new();
    let running = partially_measured(&dir);
    running.signal_group(Signal::INT);
    let output = running.wait().expect_code(3);
    output.expect_stderr("stopping; measurements so far are kept");
    output.expect_stdout(&format!("of {BLOCKS} blocks were measured"));
    let stored = StoredRun::read(&dir.run_dir(NAME));
    assert_eq!(stored.status().state, Some(State::Failed));
    assert_eq!(stored.condition("Failed").reason, "Interrupted");
    check_resume(&dir);
}

#[test]
fn printed_command_resumes_the_run_with_its_overrides() {
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(&manifest(3, 256)));
    command.args(["--rounds", "4"]);
    let running = finish_blocks(&dir, command, 4);
    running.signal_group(Signal::INT);
    let output = running.wait().expect_code(3);
    let (_, command) = output
        .stderr
        .split_once("Continue with: fabricbench run ")
        .unwrap();
    let command: Vec<&str> = command.split_whitespace().take(3).collect();
    let [file, "--resume", parent] = command[..] else {
        panic!("{output}");
    };
    RunningCommand::start(fabricbench(["run", file, "--resume", parent]))
        .wait()
        .expect_code(0);
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    assert_eq!(stored.streams.len(), 2);
}

#[test]
fn resumed_rounds_use_the_operation_counts_of_the_pilot() {
    let scenarios = "[{name: small, pingPong: {sizes: [64, 256], iterations: 10}}]";
    let manifest = run(
        INJECT_64,
        SHM,
        scenarios,
        &["sampling: {rounds: 3, minWindow: 150ms}"],
    );
    let dir = TestDir::new();
    // Two blocks of the integrity pass, two blocks of the pilot, and one block of round 1.
    let running = start_until(&dir, &manifest, 5);
    running.signal(Signal::KILL);
    running.wait().expect_signal(Signal::KILL);
    RunningCommand::start(dir.resume(&dir.manifest(&manifest)))
        .wait()
        .expect_code(0);
    let stored = StoredRun::read(&dir.run_dir(NAME));
    stored.assert_complete();
    assert_eq!(stored.streams.len(), 2);
    let pilots = |stream: usize| {
        let records = stored.streams[stream].iter();
        let cases = records.filter(|record| matches!(record, Record::Case(case) if case.pass == Pass::Pilot));
        cases.count()
    };
    assert_eq!((pilots(0), pilots(1)), (6, 0), "three arms at two sizes");
    for result in &stored.status().results {
        assert!(
            result.value(Quantity::Iterations) > Some(1000),
            "150 ms of round trips: {result:?}"
        );
    }
}

#[test]
fn rejects_a_changed_plan() {
    let dir = TestDir::new();
    let short = |rounds, size| manifest(rounds, size).replace("150ms", "20ms");
    RunningCommand::start(dir.run(&dir.manifest(&short(1, 256))))
        .wait()
        .expect_code(0);
    let records = dir.run_dir(NAME).join("records.jsonl");
    let before = streams(&records);
    for (manifest, message) in [
        (short(2, 256), "spec.sampling.rounds changed from 1 to 2"),
        (
            short(1, 512),
            "spec.scenarios[0].pingPong.sizes[1] changed from 256 to 512",
        ),
    ] {
        let output = RunningCommand::start(dir.resume(&dir.manifest(&manifest)))
            .wait()
            .expect_code(2);
        output.expect_stderr(message);
        output.expect_stderr("--output");
    }
    assert_eq!(streams(&records), before);
}

#[test]
fn rejects_a_directory_without_a_run() {
    let dir = TestDir::new();
    let file = dir.manifest(&manifest(4, 256));
    let rejects = |remedy: &str| {
        let output = RunningCommand::start(dir.resume(&file)).wait().expect_code(2);
        output.expect_stderr(&format!("there is no run named {NAME} to continue. {remedy}"));
    };
    let output = "Give the directory that --output named";
    rejects(output);
    let directory = dir.run_dir(NAME);
    let parent = directory.parent().unwrap();
    fs::create_dir_all(parent).unwrap();
    fs::write(&directory, "").unwrap();
    rejects(output);
    fs::remove_file(&directory).unwrap();
    fs::create_dir(&directory).unwrap();
    rejects(output);
    let other = parent.join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("run.json"), "{}").unwrap();
    rejects("It contains other: give the file of one of these runs");
    fs::write(parent.join("run.json"), "{}").unwrap();
    rejects("It is the directory of a single run");
}
