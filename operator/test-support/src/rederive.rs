//! Checks statuses with `operator/tests/rederive`, a program that derives the values in a status from the spec and the
//! records and shares no code with the product.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crds::v1alpha1::BenchmarkRun;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests");

/// Name of a file that contains uncompressed record lines.
pub const LINES: &str = "records.jsonl";
/// Name of a file that contains the gzip members of a record chain.
pub const RECORD_CHAIN: &str = "records.jsonl.gz";

/// Runs one of the program's modules with `arguments`.
fn run_module(module: &str, arguments: &[PathBuf]) -> Output {
    let output = Command::new("python3")
        .args(["-m", module])
        .args(arguments)
        .env("PYTHONPATH", PROGRAM)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output();
    output.expect("python3 is required for this test")
}

/// Runs the program for `directories`. Each directory contains `run.json` and one of the record files.
pub fn rederive(directories: &[PathBuf]) -> Output {
    run_module("rederive", directories)
}

/// Runs the program for the runs in two directories and for `files`. Each file contains their comparison as JSON.
pub fn rederive_comparison(runs: &[PathBuf; 2], files: &[PathBuf]) -> Output {
    run_module("rederive.compared", &[runs.as_slice(), files].concat())
}

/// Checks the status in `directory`. Returns the line with the number of values of each kind, which `rederive.totals`
/// adds up.
///
/// # Errors
/// Returns an error if a value differs from the value derived from the records, or was not checked even though the
/// status contains it.
pub fn check(directory: &Path) -> Result<String, String> {
    let output = rederive(&[directory.to_owned()]);
    let text = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    // The program compares the number of omitted values with the number in the status.
    let is_whole = text.contains("; skipped: nothing; ") || text.contains("; skipped: omitted ");
    match output.status.success() && is_whole {
        true => Ok(text),
        false => Err(text + "\n" + &String::from_utf8_lossy(&output.stderr)),
    }
}

/// Panics if the status in `directory` does not pass [`check`].
#[allow(clippy::print_stdout, reason = "the output of a test")]
#[track_caller]
pub fn assert_rederived(directory: &Path) {
    match check(directory) {
        Ok(totals) => println!("{totals}"),
        Err(differences) => panic!("{differences}"),
    }
}

/// Like [`assert_rederived`], but for a run in memory. `file` is the name of the file that `records` are stored in.
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
