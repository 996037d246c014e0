//! The output folder: taken already, unusable, or full.

use std::fs;

use super::manifest::{INJECT_64, LOOPBACK, NAME, SHORT, run};
use super::namespace::with_mounts;
use super::program::{Desk, Running};

fn manifest() -> String {
    run(INJECT_64, LOOPBACK, SHORT, &["sampling: {rounds: 1}"])
}

#[test]
fn measured_records_are_never_overwritten() {
    let desk = Desk::new();
    let manifest = desk.manifest(&manifest());
    Running::start(desk.run(&manifest)).end().exits(0);
    let records = desk.run_folder(NAME).join("records.jsonl");
    let before = fs::read(&records).unwrap();
    let ended = Running::start(desk.run(&manifest)).end().exits(2);
    ended.says("already holds measured records: continue them with --resume");
    assert_eq!(fs::read(&records).unwrap(), before);
}

#[test]
fn what_else_is_in_the_folder_stays() {
    let desk = Desk::new();
    let notes = desk.run_folder(NAME).join("notes.txt");
    fs::create_dir_all(desk.run_folder(NAME)).unwrap();
    fs::write(&notes, "mine").unwrap();
    Running::start(desk.run(&desk.manifest(&manifest())))
        .end()
        .exits(0);
    assert_eq!(fs::read_to_string(notes).unwrap(), "mine");
}

#[test]
fn a_file_in_its_place() {
    let desk = Desk::new();
    fs::write(desk.output(), "a file").unwrap();
    let ended = Running::start(desk.run(&desk.manifest(&manifest())))
        .end()
        .exits(2);
    ended.says("cannot be made");
    ended.says("Name another one with --output");
}

#[test]
fn a_file_system_that_is_read_only() {
    let desk = Desk::new();
    fs::create_dir(desk.output()).unwrap();
    let mount = format!(r#"mount -t tmpfs -o ro none "{}""#, desk.output().display());
    let command = with_mounts(&mount, &desk.run(&desk.manifest(&manifest())));
    let ended = Running::start(command).end().exits(2);
    ended.says("Read-only file system");
    ended.says("Name another one with --output");
}

#[test]
fn a_file_system_that_is_full() {
    let desk = Desk::new();
    fs::create_dir(desk.output()).unwrap();
    let mount = format!(r#"mount -t tmpfs -o size=16k none "{}""#, desk.output().display());
    let command = with_mounts(&mount, &desk.run(&desk.manifest(&manifest())));
    let ended = Running::start(command).end().exits(3);
    ended.says("No space left on device");
    ended.says("records.jsonl");
    ended.says("--resume");
}
