//! Manifests with several runs: runs that are stopped and resumed, a run that fails, and runs that are rejected before
//! anything is measured.

use std::fs;
use std::io::Read;
use std::path::Path;

use crds::v1alpha1::State;
use rustix::fs::{FileType, Mode, mknodat};
use rustix::process::{Signal, kill_process};

use super::harness::{RunningCommand, TestDir, workspace};
use super::manifest::{INJECT_64, LOOPBACK, NAME, SHORT, run};
use super::stored_run::{self, StoredRun, streams};

const ROUNDS: &str = "sampling: {rounds: 1, control: false}";
const SECOND: &str = "second";

/// Returns a manifest with two runs. The first has `scenarios` and the second has short scenarios.
fn two_runs(scenarios: &str, rest: &[&str]) -> String {
    let first = run(INJECT_64, LOOPBACK, scenarios, rest);
    let second = run(INJECT_64, LOOPBACK, SHORT, &[ROUNDS]);
    format!("{first}---\n{}", second.replace(NAME, SECOND))
}

#[test]
fn resumes_a_stopped_run_and_starts_the_next_one() {
    let dir = TestDir::new();
    let demo = workspace().join("examples/demo.yaml").display().to_string();
    let short = |mut command: std::process::Command| {
        command.args(["--rounds", "1"]);
        command
    };
    let mut running = RunningCommand::start(short(dir.run(&demo)));
    let records = dir.run_dir("demo-tcp").join("records.jsonl");
    running.wait_for(|_| {
        let first = streams(&records).into_iter().next()?;
        (!stored_run::blocks(&first).is_empty()).then_some(())
    });
    running.signal_group(Signal::INT);
    let output = running.wait().expect_code(3);
    output.expect_stderr("demo-shm: not started");
    assert!(!dir.run_dir("demo-shm").join("run.json").exists());

    let output = RunningCommand::start(short(dir.resume(&demo))).wait();
    // One round is too few for a verdict. The test only checks that both runs are measured.
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    for name in ["demo-tcp", "demo-shm"] {
        StoredRun::read(&dir.run_dir(name)).assert_complete();
    }
}

#[test]
fn ctrl_c_while_writing_a_report_stops_the_command() {
    let dir = TestDir::new();
    let directory = dir.run_dir(NAME);
    fs::create_dir_all(&directory).unwrap();
    // Writing the report to a pipe blocks until the pipe is read.
    let pipe = directory.join("report.new");
    mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut running = RunningCommand::start(dir.run(&dir.manifest(&two_runs(SHORT, &[ROUNDS]))));
    running.wait_for(|_| is_complete(&directory).then_some(()));
    running.signal(Signal::INT);
    let mut report = String::new();
    fs::File::open(&pipe)
        .unwrap()
        .read_to_string(&mut report)
        .unwrap();
    let output = running.wait().expect_code(3);
    assert!(report.contains("</html>"));
    output.expect_stderr(&format!("{SECOND}: not started"));
    assert!(!dir.run_dir(SECOND).join("run.json").exists());
}

fn is_complete(directory: &Path) -> bool {
    directory.join("run.json").exists()
        && stored_run::run(directory)
            .status
            .is_some_and(|status| status.state == Some(State::Complete))
}

#[test]
fn failed_run_does_not_stop_the_next_one() {
    let dir = TestDir::new();
    let long = "[{name: small, pingPong: {sizes: [64], duration: 2s}}]";
    let deadline = "runPolicy: {caseDeadlineSeconds: 5}";
    let mut running = RunningCommand::start(dir.run(&dir.manifest(&two_runs(long, &[ROUNDS, deadline]))));
    kill_process(running.worker(1).id(), Signal::KILL).unwrap();
    // The coordinator waits 30 s for the killed worker.
    running.release_machine();
    let output = running.wait().expect_code(3);
    output.expect_stderr(&format!("{NAME}: worker 1 terminated with signal: 9"));
    StoredRun::read(&dir.run_dir(SECOND)).assert_complete();
}

#[test]
fn rejects_a_directory_with_records_before_measuring() {
    let dir = TestDir::new();
    let occupied = dir.run_dir(SECOND);
    fs::create_dir_all(&occupied).unwrap();
    fs::write(occupied.join("records.jsonl"), "measured\n").unwrap();
    let output = RunningCommand::start(dir.run(&dir.manifest(&two_runs(SHORT, &[ROUNDS]))))
        .wait()
        .expect_code(2);
    output.expect_stderr("already contains measured records");
    assert!(!dir.run_dir(NAME).join("run.json").exists());
}

#[test]
fn locks_the_run_directory() {
    let dir = TestDir::new();
    let long = "[{name: small, pingPong: {sizes: [64], duration: 5s}}]";
    let manifest = dir.manifest(&run(INJECT_64, LOOPBACK, long, &[ROUNDS]));
    let mut running = RunningCommand::start(dir.run(&manifest));
    let records = dir.run_dir(NAME).join("records.jsonl");
    running.wait_for(|_| (!streams(&records).is_empty()).then_some(()));
    for command in [dir.resume(&manifest), dir.run(&manifest)] {
        let mut command = command;
        let other = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&other.stderr).into_owned();
        assert_eq!(other.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains("another fabricbench process is writing"),
            "{stderr}"
        );
    }
    running.signal(Signal::INT);
    running.wait().expect_code(3);
    let before = streams(&records).len();
    assert_eq!(before, 1);
}

#[test]
fn rejects_an_image_for_the_whole_run() {
    let dir = TestDir::new();
    let manifest = run(INJECT_64, LOOPBACK, SHORT, &[ROUNDS, "image: vendor/runner:1"]);
    let output = RunningCommand::start(dir.run(&dir.manifest(&manifest)))
        .wait()
        .expect_code(2);
    output.expect_stderr("spec.image: images require a cluster");
    assert!(!dir.output_dir().exists());
}

#[test]
fn rejects_the_library_of_another_image() {
    let dir = TestDir::new();
    let variants = "variants: [{name: a}, {name: b, library: /opt/lib, libraryImage: \"vendor/efa:1\"}]";
    let manifest = format!(
        "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: r}}\nspec:\n  baseline: a\n  {variants}\n  \
         transport: {{libfabric: {{provider: tcp}}}}\n  scenarios: [{{name: s, pingPong: {{sizes: [64]}}}}]\n"
    );
    let output = RunningCommand::start(dir.run(&dir.manifest(&manifest)))
        .wait()
        .expect_code(2);
    output.expect_stderr("spec.variants[1].libraryImage: images require a cluster");
    assert!(!dir.output_dir().exists());
}
