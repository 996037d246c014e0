//! Runs that an earlier release measured yield the same status today: the same verdicts, intervals and evidence.
//!
//! `cli/tests/recorded/fields-per-value.tar.gz` contains `run.json` and `records.jsonl` of one run for each workload and
//! transport (except verbs, which needs a device), as that release wrote them on one machine. In their status, a result
//! has a field for each value.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// Quantities that the earlier release did not write into the status.
const ADDED: [&str; 1] = ["footprintBaselineRssBytes is unset"];
/// First words of the warning that lists differences between the status and the records.
const CHANGED: &str = "run.json was changed";

/// Unpacks the recorded runs, and returns their directories.
fn recorded() -> (TempDir, Vec<PathBuf>) {
    let directory = TempDir::new().unwrap();
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/fields-per-value.tar.gz");
    let mut tar = Command::new("tar");
    tar.arg("-xzf")
        .arg(archive)
        .arg("-C")
        .arg(directory.path())
        .arg("--no-same-owner");
    assert!(tar.status().unwrap().success());
    let entries = fs::read_dir(directory.path()).unwrap();
    let mut runs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    runs.sort();
    (directory, runs)
}

fn read_run(directory: &Path) -> Value {
    serde_json::from_slice(&fs::read(directory.join("run.json")).unwrap()).unwrap()
}

/// The report of the run in `directory`. `fabricbench report` evaluates the records, and warns about each value of the
/// stored status that differs from the evaluation.
fn report(directory: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench"));
    let output = command
        .args(["report", "--format", "json"])
        .arg(directory)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{directory:?}: {error}: {errors}"))
}

#[test]
fn runs_of_an_earlier_release_are_evaluated_to_the_same_status() {
    let (_directory, runs) = recorded();
    assert_eq!(runs.len(), 13);
    for directory in runs {
        let report = report(&directory);
        assert_eq!(report["complete"], true, "{directory:?}");
        for warning in report["warnings"].as_array().unwrap() {
            let warning = warning.as_str().unwrap();
            if warning.starts_with(CHANGED) {
                let differences = warning.matches(" is ").count();
                let added: usize = ADDED.iter().map(|added| warning.matches(added).count()).sum();
                assert_eq!(added, differences, "{directory:?}: {warning}");
            }
        }
    }
}

/// The recorded runs contain each workload and each verdict, so that the test above examines all of them.
#[test]
fn recorded_runs_contain_every_workload_and_verdict() {
    let (_directory, runs) = recorded();
    let mut workloads = BTreeSet::new();
    let mut verdicts = BTreeSet::new();
    for directory in runs {
        let run = read_run(&directory);
        for scenario in run["spec"]["scenarios"].as_array().unwrap() {
            let fields = scenario.as_object().unwrap().iter();
            // The workload is the only object in a scenario.
            workloads.extend(
                fields
                    .filter(|(_, value)| value.is_object())
                    .map(|(name, _)| name.clone()),
            );
        }
        let comparisons = run["status"]["comparisons"].as_array().unwrap();
        verdicts.extend(
            comparisons
                .iter()
                .map(|one| one["verdict"].as_str().map(str::to_owned)),
        );
    }
    assert_eq!(workloads.len(), 11, "{workloads:?}");
    // Four verdicts, and comparisons without one.
    assert_eq!(verdicts.len(), 5, "{verdicts:?}");
}
