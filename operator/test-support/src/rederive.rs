//! Checks statuses with `operator/tests/rederive`, a program that derives the figures of a status from the spec and the
//! records without any code of the product.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crds::v1alpha1::BenchmarkRun;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests");

/// Runs the program for `directories`, each with the files `run.json` and `records.jsonl`.
pub fn rederive(directories: &[PathBuf]) -> Output {
    let output = Command::new("python3")
        .args(["-m", "rederive"])
        .args(directories)
        .env("PYTHONPATH", PROGRAM)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output();
    output.expect("python3 is required for this test")
}

/// Panics if a figure of the status in `directory` differs from the figure that its records yield.
#[track_caller]
pub fn assert_rederived(directory: &Path) {
    let output = rederive(&[directory.to_owned()]);
    let text = String::from_utf8_lossy(&output.stdout);
    let differences = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{differences}");
    println!("rederived {}", text.trim_end());
}

/// Like [`assert_rederived`], with the run and its records in memory.
#[track_caller]
pub fn assert_run_rederived(run: &BenchmarkRun, records: &str) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("run.json"),
        serde_json::to_vec(run).unwrap(),
    )
    .unwrap();
    fs::write(directory.path().join("records.jsonl"), records).unwrap();
    assert_rederived(directory.path());
}
