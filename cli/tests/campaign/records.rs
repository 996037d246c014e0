//! Record files that were truncated, reordered or edited after the measurement.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::harness::{CommandOutput, RunningCommand, TestDir, fabricbench};
use super::manifest::{INJECT_64, LOOPBACK, NAME, SHORT, run};
use super::stored_run::StoredRun;

/// Returns a finished run of six blocks, its manifest and its record lines.
fn finished_run() -> (TestDir, String, Vec<String>) {
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(INJECT_64, LOOPBACK, SHORT, &["sampling: {rounds: 1}"]));
    RunningCommand::start(dir.run(&manifest)).wait().expect_code(0);
    let text = fs::read_to_string(dir.run_dir(NAME).join("records.jsonl")).unwrap();
    let lines = text.lines().map(str::to_owned).collect();
    (dir, manifest, lines)
}

fn report(directory: &Path) -> CommandOutput {
    RunningCommand::start(fabricbench(["report", &directory.display().to_string()])).wait()
}

/// Writes `text` as the record file. Checks that the records from line `line` on (counted from 1) are rejected with
/// `message`, and that the run can be resumed.
#[track_caller]
fn check_detection_and_resume(dir: &TestDir, manifest: &str, text: &str, line: usize, message: &str) {
    let directory = dir.run_dir(NAME);
    fs::write(directory.join("records.jsonl"), text).unwrap();
    let output = report(&directory).expect_code(3);
    output.expect_stdout("of 6 blocks were measured");
    output.expect_stdout(&format!("records, line {line}"));
    output.expect_stdout(message);

    let output = RunningCommand::start(dir.resume(manifest)).wait().expect_code(0);
    output.expect_stdout(message);
    let stored = StoredRun::read(&directory);
    stored.assert_complete();
    assert!(
        stored
            .status()
            .warnings
            .iter()
            .any(|warning| warning.contains(message))
    );
    report(&directory).expect_code(0).expect_stdout(message);
}

#[test]
fn detects_reordered_lines() {
    let (dir, manifest, mut lines) = finished_run();
    let middle = lines.len() / 2;
    lines.swap(middle, middle + 1);
    let text = lines.join("\n") + "\n";
    check_detection_and_resume(
        &dir,
        &manifest,
        &text,
        middle + 1,
        "missing, duplicated or reordered",
    );
}

#[test]
fn detects_a_missing_line() {
    let (dir, manifest, mut lines) = finished_run();
    let middle = lines.len() / 2;
    lines.remove(middle);
    let text = lines.join("\n") + "\n";
    check_detection_and_resume(
        &dir,
        &manifest,
        &text,
        middle + 1,
        "missing, duplicated or reordered",
    );
}

#[test]
fn detects_an_edited_value() {
    let (dir, manifest, mut lines) = finished_run();
    let case = lines
        .iter()
        .position(|line| line.contains("\"windowNanos\":"))
        .unwrap();
    lines[case] = lines[case].replacen("\"windowNanos\":", "\"windowNanos\":1", 1);
    let text = lines.join("\n") + "\n";
    check_detection_and_resume(&dir, &manifest, &text, case + 1, "chained digest differs");
}

#[test]
fn rejects_a_run_without_a_status() {
    let (dir, _, _) = finished_run();
    let directory = dir.run_dir(NAME);
    let mut run: Value = serde_json::from_slice(&fs::read(directory.join("run.json")).unwrap()).unwrap();
    run.as_object_mut().unwrap().remove("status");
    fs::write(directory.join("run.json"), run.to_string()).unwrap();
    let output = report(&directory).expect_code(2);
    output.expect_stderr("run.json has no status");
}

/// An extra blank line does not break the chain, but the file is no longer the one that the run wrote.
#[test]
fn does_not_resume_with_changed_records() {
    let (dir, manifest, lines) = finished_run();
    let directory = dir.run_dir(NAME);
    fs::write(directory.join("records.jsonl"), lines.join("\n") + "\n\n").unwrap();
    report(&directory).expect_code(3);
    let resumed = RunningCommand::start(dir.resume(&manifest)).with_changed_records();
    let output = resumed.wait().expect_code(3);
    output.expect_stderr("is not the file that this run wrote");
    report(&directory).expect_code(3);
}

#[test]
fn detects_a_truncated_line() {
    let (dir, manifest, lines) = finished_run();
    let middle = lines.len() / 2;
    let cut = &lines[middle][..lines[middle].len() / 2];
    let text = lines[..middle].join("\n") + "\n" + cut;
    let directory = dir.run_dir(NAME);
    fs::write(directory.join("records.jsonl"), &text).unwrap();
    let output = report(&directory).expect_code(3);
    output.expect_stdout(&format!("the last line is truncated after {} bytes", cut.len()));

    RunningCommand::start(dir.resume(&manifest)).wait().expect_code(0);
    StoredRun::read(&directory).assert_complete();
    report(&directory).expect_code(0);
}

#[test]
fn detects_a_replaced_or_missing_file() {
    let (dir, _, lines) = finished_run();
    let directory = dir.run_dir(NAME);
    report(&directory).expect_code(0);
    // The parent directory contains only this run.
    report(&dir.output_dir()).expect_code(0);

    let records = directory.join("records.jsonl");
    let duplicated = [lines.join("\n"), lines.join("\n"), String::new()].join("\n");
    fs::write(&records, duplicated).unwrap();
    let output = report(&directory).expect_code(3);
    output.expect_stdout("was changed after the measurement");
    output.expect_stdout("verdict not trusted, because the records were changed: ");
    output.expect_stderr("was changed after the measurement");
    for (format, text) in [
        ("openmetrics", "outcome=\"Untrusted\""),
        ("junit", "was changed after the measurement"),
        ("markdown", "was changed after the measurement"),
        ("html", "was changed after the measurement"),
        ("json", "was changed after the measurement"),
    ] {
        let mut command = fabricbench(["report", "--format", format]);
        command.arg(&directory);
        RunningCommand::start(command)
            .wait()
            .expect_code(3)
            .expect_stdout(text);
    }
    fs::write(&records, "").unwrap();
    report(&directory)
        .expect_code(3)
        .expect_stderr("was changed after the measurement");
    fs::remove_file(&records).unwrap();
    report(&directory)
        .expect_code(2)
        .expect_stderr("records.jsonl is missing or not a file");
}

#[test]
fn detects_an_edited_status() {
    let (dir, _, _) = finished_run();
    let directory = dir.run_dir(NAME);
    let path = directory.join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    for (pointer, value, difference) in [
        (
            "/status/results/0/validRounds",
            json!(7),
            "status.results[0].validRounds is 7, but the records yield",
        ),
        (
            "/status/outcome",
            json!("Suspect"),
            "status.outcome is \"Suspect\", but the records yield",
        ),
        (
            "/status/seed",
            json!(7),
            "status.seed is 7, but the records yield",
        ),
        (
            "/status/warnings",
            json!(["none"]),
            "status.warnings[0] is \"none\", but the records yield",
        ),
        (
            "/status/conditions/3/message",
            json!("all is well"),
            "status.conditions[3].message is \"all is well\", but the records yield",
        ),
        (
            "/status/conditions/0/status",
            json!("False"),
            "status.conditions[0].status is \"False\", but the records yield",
        ),
        (
            "/status/state",
            json!("Failed"),
            "status.state is \"Failed\", but the records yield",
        ),
        (
            "/status/state",
            json!("Running"),
            "status.state is \"Running\", but the records yield",
        ),
        (
            "/status/placement/nodes",
            json!(["elsewhere", "elsewhere"]),
            "status.placement.nodes[0] is \"elsewhere\", but the records yield",
        ),
        (
            "/status/records/reference",
            json!("other.jsonl"),
            "status.records.reference is \"other.jsonl\", but the records yield",
        ),
        (
            "/status/execution",
            json!({}),
            "status.execution is {}, but the records yield unset",
        ),
    ] {
        let mut run: Value = serde_json::from_str(&text).unwrap();
        match run.pointer_mut(pointer) {
            Some(found) => *found = value,
            None => run["status"]["execution"] = value,
        }
        fs::write(&path, run.to_string()).unwrap();
        let output = report(&directory).expect_code(0);
        output.expect_stdout("run.json was changed");
        output.expect_stdout(difference);
    }
}
