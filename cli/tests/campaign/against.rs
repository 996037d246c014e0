//! `fabricbench run --against`: comparison with an earlier run.

use std::fs;

use serde_json::Value;

use super::harness::{RunningCommand, TestDir, fabricbench};
use super::manifest::{INJECT_64, LOOPBACK, NAME, SHM, SHORT, run};

/// Enough rounds for a verdict. The margin is so large that the baseline seldom changes by more between two runs.
const ROUNDS: &str = "sampling: {rounds: 6, seed: 7, control: false, marginPercent: 50}";

/// Two variants at one size, so that few rounds are enough for a verdict.
fn manifest(transport: &str) -> String {
    run(INJECT_64, transport, &SHORT.replace("64, 256", "64"), &[ROUNDS])
}

#[test]
fn reports_changes_and_sets_the_exit_status() {
    let (before, after) = (TestDir::new(), TestDir::new());
    RunningCommand::start(before.run(&before.manifest(&manifest(LOOPBACK)))).wait();
    let mut command = after.run(&after.manifest(&manifest(LOOPBACK)));
    command.arg("--against").arg(before.output_dir());
    let output = RunningCommand::start(command).wait();
    output.expect_stdout(&format!("{NAME}: started 2"));
    let mut command = fabricbench(["compare", "--format", "json"]);
    command.args([before.run_dir(NAME), after.run_dir(NAME)]);
    let compared = RunningCommand::start(command).wait();
    let comparisons: Value = serde_json::from_str(&compared.stdout).unwrap();
    let has = |field: &str, value: Value| {
        let comparisons = comparisons["comparisons"].as_array().unwrap();
        comparisons.iter().any(|one| one[field] == value)
    };
    let expected = match () {
        () if has("verdict", "Regressed".into()) => 1,
        () if has("baselineChanged", true.into()) => 3,
        () => 0,
    };
    output.expect_code(expected);
}

#[test]
fn rejects_a_different_environment() {
    let (before, after) = (TestDir::new(), TestDir::new());
    RunningCommand::start(before.run(&before.manifest(&manifest(LOOPBACK)))).wait();
    let mut command = after.run(&after.manifest(&manifest(SHM)));
    command.arg("--against").arg(before.run_dir(NAME));
    let output = RunningCommand::start(command).wait().expect_code(3);
    output.expect_stderr("the runs are not comparable");
}

#[test]
fn rejects_a_missing_earlier_run_before_measuring() {
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(&manifest(LOOPBACK)));
    command
        .arg("--against")
        .arg(dir.output_dir().join("nowhere/at/all"));
    let output = RunningCommand::start(command).wait().expect_code(2);
    output.expect_stderr("nowhere/at/all");
    assert!(fs::read_dir(dir.output_dir()).is_err(), "something was measured");
}

#[test]
fn lists_the_runs_in_a_directory_without_the_requested_run() {
    let dir = TestDir::new();
    let earlier = dir.output_dir().with_file_name("earlier");
    fs::create_dir_all(earlier.join("other")).unwrap();
    fs::write(earlier.join("other/run.json"), "{}").unwrap();
    let mut command = dir.run(&dir.manifest(&manifest(LOOPBACK)));
    command.arg("--against").arg(&earlier);
    let output = RunningCommand::start(command).wait().expect_code(2);
    output.expect_stderr(&format!("no run {NAME} in {}", earlier.display()));
    output.expect_stderr("earlier/other");
}
