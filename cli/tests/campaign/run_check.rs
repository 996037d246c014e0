//! Checks the status of every run with results that a command wrote.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crds::v1alpha1::State;
use test_support::rederive::{LINES, assert_rederived};

use super::stored_run;

/// Directory in which `command` writes runs; `None` for a command that writes none.
pub fn output_dir(command: &Command) -> Option<PathBuf> {
    let mut arguments = command.get_args();
    arguments.find(|argument| ["--output", "--resume"].map(OsStr::new).contains(argument))?;
    arguments.next().map(PathBuf::from)
}

/// Checks every run in `output`. Prints the reason if a run is not checked.
#[track_caller]
pub fn check_runs(output: &Path) {
    // A command that was rejected has created no directory.
    let Ok(directories) = fs::read_dir(output) else {
        return;
    };
    for directory in directories.map(|entry| entry.unwrap().path()) {
        match reason_to_skip(&directory) {
            Some(reason) => println!("not rederived: {}: {reason}", directory.display()),
            None => assert_rederived(&directory),
        }
    }
}

fn reason_to_skip(directory: &Path) -> Option<&'static str> {
    if !directory.join("run.json").exists() {
        return Some("no status was written");
    }
    if !directory.join(LINES).exists() {
        return Some("no record was written");
    }
    let state = stored_run::run(directory).status.and_then(|status| status.state);
    let is_older = matches!(state, None | Some(State::Pending | State::Running));
    is_older.then_some("the command was killed before it updated the status")
}
