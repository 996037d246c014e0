//! Checks statuses with `operator/tests/rederive`, a program that derives the figures of a status from the spec and the
//! records without any code of the product.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crds::v1alpha1::BenchmarkRun;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests");

/// Name of the file with the lines of the records.
pub const LINES: &str = "records.jsonl";
/// Name of the file with the gzip members of the record chain.
pub const RECORD_CHAIN: &str = "records.jsonl.gz";

/// Runs the program for `directories`, each of which contains `run.json` and one of the two files of records.
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
#[allow(clippy::print_stdout, reason = "the output of a test")]
#[track_caller]
pub fn assert_rederived(directory: &Path) {
    let output = rederive(&[directory.to_owned()]);
    let text = String::from_utf8_lossy(&output.stdout);
    let differences = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{differences}");
    println!("rederived {}", text.trim_end());
}

/// Like [`assert_rederived`], but for a run in memory. `file` is the name of the file in which to store `records`.
#[track_caller]
pub fn assert_run_rederived(run: &BenchmarkRun, file: &str, records: &[u8]) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("run.json"),
        serde_json::to_vec(run).unwrap(),
    )
    .unwrap();
    fs::write(directory.path().join(file), records).unwrap();
    assert_rederived(directory.path());
}
