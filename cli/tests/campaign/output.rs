//! Output directories that are in use, unusable or full.

use std::fs;
use std::process::Command;

use super::harness::{RunningCommand, TestDir};
use super::manifest::{INJECT_64, LOOPBACK, NAME, SHORT, run};
use super::mount_namespace::with_mounts;
use super::stored_run::StoredRun;

fn manifest() -> String {
    run(INJECT_64, LOOPBACK, SHORT, &["sampling: {rounds: 1}"])
}

#[test]
fn does_not_overwrite_measured_records() {
    let dir = TestDir::new();
    let manifest = dir.manifest(&manifest());
    RunningCommand::start(dir.run(&manifest)).wait().expect_code(0);
    let records = dir.run_dir(NAME).join("records.jsonl");
    let before = fs::read(&records).unwrap();
    let output = RunningCommand::start(dir.run(&manifest)).wait().expect_code(2);
    output.expect_stderr(
        "already contains measured records: continue that run with `fabricbench run FILE --resume ",
    );
    assert_eq!(fs::read(&records).unwrap(), before);
}

#[test]
fn keeps_other_files_in_the_directory() {
    let dir = TestDir::new();
    let notes = dir.run_dir(NAME).join("notes.txt");
    fs::create_dir_all(dir.run_dir(NAME)).unwrap();
    fs::write(&notes, "mine").unwrap();
    RunningCommand::start(dir.run(&dir.manifest(&manifest())))
        .wait()
        .expect_code(0);
    assert_eq!(fs::read_to_string(notes).unwrap(), "mine");
}

#[test]
fn rejects_a_file_as_output_directory() {
    let dir = TestDir::new();
    fs::write(dir.output_dir(), "a file").unwrap();
    let output = RunningCommand::start(dir.run(&dir.manifest(&manifest())))
        .wait()
        .expect_code(2);
    output.expect_stderr("cannot create the output directory");
    output.expect_stderr("Choose another one with --output");
}

#[test]
fn rejects_a_read_only_file_system() {
    let dir = TestDir::new();
    fs::create_dir(dir.output_dir()).unwrap();
    let mount = format!(r#"mount -t tmpfs -o ro none "{}""#, dir.output_dir().display());
    let command = with_mounts(&mount, &dir.run(&dir.manifest(&manifest())));
    let output = RunningCommand::start(command).wait().expect_code(2);
    output.expect_stderr("read-only file system");
    output.expect_stderr("Choose another one with --output");
}

#[test]
fn reports_a_full_file_system() {
    let dir = TestDir::new();
    fs::create_dir(dir.output_dir()).unwrap();
    let mount = format!(
        r#"mount -t tmpfs -o size=16k none "{}""#,
        dir.output_dir().display()
    );
    let command = with_mounts(&mount, &dir.run(&dir.manifest(&manifest())));
    let output = RunningCommand::start(command).wait().expect_code(3);
    output.expect_stderr("no space left on device");
    output.expect_stderr("records.jsonl");
    output.expect_stderr("--resume");
}

#[test]
fn finishes_even_if_its_progress_cannot_be_written() {
    let dir = TestDir::new();
    let run = dir.run(&dir.manifest(&manifest()));
    let mut command = Command::new("sh");
    command
        .args(["-c", "exec \"$@\" 2>/dev/full", "sh"])
        .arg(run.get_program())
        .args(run.get_args());
    RunningCommand::start(command).wait().expect_code(0);
    StoredRun::read(&dir.run_dir(NAME)).assert_complete();
}
