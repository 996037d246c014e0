//! A run that is compared with an earlier one.

use std::fs;

use super::manifest::{INJECT_64, LOOPBACK, NAME, SHM, SHORT, run};
use super::program::{Desk, Running};

/// Rounds with which a verdict is possible.
const ROUNDS: &str = "sampling: {rounds: 6, seed: 7, control: false}";

/// Two variants at one size: few rounds suffice for a verdict.
fn manifest(transport: &str) -> String {
    run(INJECT_64, transport, &SHORT.replace("64, 256", "64"), &[ROUNDS])
}

#[test]
fn what_changed_since_is_told_and_decides() {
    let (before, after) = (Desk::new(), Desk::new());
    Running::start(before.run(&before.manifest(&manifest(LOOPBACK)))).end();
    let mut command = after.run(&after.manifest(&manifest(LOOPBACK)));
    command.arg("--against").arg(before.output());
    let ended = Running::start(command).end();
    ended.shows(&format!("{NAME} against {NAME}"));
    let regressed = ended.stdout.contains("Regressed");
    let expected = if regressed { 1 } else { 0 };
    ended.exits(expected);
}

#[test]
fn another_environment_is_refused() {
    let (before, after) = (Desk::new(), Desk::new());
    Running::start(before.run(&before.manifest(&manifest(LOOPBACK)))).end();
    let mut command = after.run(&after.manifest(&manifest(SHM)));
    command.arg("--against").arg(before.run_folder(NAME));
    let ended = Running::start(command).end().exits(3);
    ended.says("the runs are not comparable");
}

#[test]
fn an_earlier_run_that_is_not_there_is_told_before_anything_is_measured() {
    let desk = Desk::new();
    let mut command = desk.run(&desk.manifest(&manifest(LOOPBACK)));
    command.arg("--against").arg(desk.output().join("nowhere/at/all"));
    let ended = Running::start(command).end().exits(2);
    ended.says("nowhere/at/all");
    assert!(fs::read_dir(desk.output()).is_err(), "nothing was measured");
}

#[test]
fn a_folder_without_the_run_says_which_it_has() {
    let desk = Desk::new();
    let earlier = desk.output().with_file_name("earlier");
    fs::create_dir_all(earlier.join("other")).unwrap();
    fs::write(earlier.join("other/run.json"), "{}").unwrap();
    let mut command = desk.run(&desk.manifest(&manifest(LOOPBACK)));
    command.arg("--against").arg(&earlier);
    let ended = Running::start(command).end().exits(2);
    ended.says(&format!("no run {NAME} in {}", earlier.display()));
    ended.says("earlier/other");
}
