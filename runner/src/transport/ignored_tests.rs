//! Runs tests of libraries of which a process can load only one, and that read their environment when they are loaded.

use super::ucx::required_environment;
use std::ffi::OsString;
use std::process::{Command, ExitStatus};

/// Runs the ignored tests whose names contain `filter` one after another, in a process without a home directory, with these
/// variables. Returns its exit status and its output.
pub(super) fn run_ignored_tests(
    filter: &str,
    variables: impl IntoIterator<Item = (&'static str, OsString)>,
) -> (ExitStatus, String) {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--test-threads=1", filter])
        .current_dir(directory.path())
        .env_remove("HOME")
        .envs(required_environment())
        .envs(variables)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let text = format!("{filter}: {}\n{}", output.status, text.join("\n"));
    assert!(!text.contains("running 0 tests"), "{text}");
    (output.status, text)
}
