//! `fabricbench replay`: measures a finished run's plan again.

use std::fs;
use std::path::Path;

use crds::assignment::Pass;
use crds::record::{CaseResult, Record};
use serde_json::Value;

use super::harness::{RunningCommand, TestDir, fabricbench};
use super::manifest::{INJECT_64, LOOPBACK, NAME, SHORT, run};

/// Sampling without a seed, so that the order is derived from the uid.
const ROUNDS: &str = "sampling: {rounds: 3, control: false}";

/// Runs a campaign to completion and returns its directory.
fn finished_run() -> TestDir {
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(INJECT_64, LOOPBACK, SHORT, &[ROUNDS]));
    RunningCommand::start(dir.run(&manifest)).wait();
    dir
}

/// Returns the round, size, arm and operation count of each case of the run in `directory`, except pilot cases, in
/// measurement order.
fn cases(directory: &Path) -> Vec<(u32, u64, String, Option<u64>)> {
    let text = fs::read_to_string(directory.join("records.jsonl")).unwrap();
    let records = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["record"].take());
    let cases = records.filter_map(|record| match serde_json::from_value(record).unwrap() {
        Record::Case(case) if case.pass != Pass::Pilot => {
            let operations = match case.result {
                CaseResult::Measured(measured) => measured.initiator.posted.map(|posted| posted.operations),
                CaseResult::Checked(_) | CaseResult::Failed(_) => None,
            };
            Some((case.round, case.size_bytes, case.arm, operations))
        }
        _ => None,
    });
    cases.collect()
}

fn stored_run(directory: &Path) -> Value {
    serde_json::from_slice(&fs::read(directory.join("run.json")).unwrap()).unwrap()
}

#[test]
fn measures_the_cases_of_the_finished_run_in_the_same_order_with_the_same_operations() {
    let (before, after) = (finished_run(), TestDir::new());
    let mut command = fabricbench(["replay"]);
    command
        .arg(before.run_dir(NAME))
        .arg("--output")
        .arg(after.output_dir());
    let output = RunningCommand::start(command).wait();
    output.expect_stdout(&format!("{NAME}: started 2"));
    let again = after.run_dir(NAME);
    assert_eq!(cases(&again), cases(&before.run_dir(NAME)));
    let records = |directory: &Path| fs::read_to_string(directory.join("records.jsonl")).unwrap();
    let is_pilot = "\"pass\":\"pilot\"";
    assert!(records(&before.run_dir(NAME)).contains(is_pilot));
    assert!(
        !records(&again).contains(is_pilot),
        "the operation counts are known"
    );
    let (first, second) = (stored_run(&before.run_dir(NAME)), stored_run(&again));
    assert_eq!(first["status"]["seed"], second["status"]["seed"]);
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
}

#[test]
fn prints_a_manifest_of_the_finished_run() {
    let before = finished_run();
    let mut command = fabricbench(["replay", "--manifest", "again"]);
    command.arg(before.run_dir(NAME));
    let output = RunningCommand::start(command).wait().expect_code(0);
    let printed: Value = serde_json::from_str(&output.stdout).unwrap();
    let first = stored_run(&before.run_dir(NAME));
    assert_eq!(printed["metadata"]["name"], "again");
    assert_eq!(printed["metadata"].get("uid"), None);
    assert_eq!(printed["spec"]["sampling"]["seed"], first["status"]["seed"]);
    assert_eq!(printed["spec"]["variants"], first["spec"]["variants"]);
    let file = before.manifest(&output.stdout);
    let mut command = fabricbench(["plan"]);
    command.arg(file);
    RunningCommand::start(command).wait().expect_code(0);
}

#[test]
fn rejects_an_incomplete_run() {
    let before = finished_run();
    let records = before.run_dir(NAME).join("records.jsonl");
    let text = fs::read_to_string(&records).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&records, lines[..lines.len() / 2].join("\n")).unwrap();
    let after = TestDir::new();
    let mut command = fabricbench(["replay"]);
    command
        .arg(before.run_dir(NAME))
        .arg("--output")
        .arg(after.output_dir());
    RunningCommand::start(command).wait().expect_code(3);
    assert!(
        fs::read_dir(after.output_dir()).is_err(),
        "something was measured"
    );
}
