//! Files of several runs: stopped, resumed, and with one that cannot be carried out.

use std::fs;
use std::io::Read;
use std::path::Path;

use crds::v1alpha1::State;
use rustix::fs::{FileType, Mode, mknodat};
use rustix::process::{Signal, kill_process};

use super::manifest::{INJECT_64, LOOPBACK, NAME, SHORT, run};
use super::program::{Desk, Running, workspace};
use super::stored::{self, Stored, streams};

const ROUNDS: &str = "sampling: {rounds: 1, control: false}";
const SECOND: &str = "second";

/// Two runs; `scenarios` of the first, short ones of the second.
fn two(scenarios: &str, rest: &[&str]) -> String {
    let first = run(INJECT_64, LOOPBACK, scenarios, rest);
    let second = run(INJECT_64, LOOPBACK, SHORT, &[ROUNDS]);
    format!("{first}---\n{}", second.replace(NAME, SECOND))
}

#[test]
fn a_demonstration_that_was_stopped_goes_on_with_both_runs() {
    let desk = Desk::new();
    let demo = workspace().join("examples/demo.yaml").display().to_string();
    let short = |mut command: std::process::Command| {
        command.args(["--rounds", "1"]);
        command
    };
    let mut running = Running::start(short(desk.run(&demo)));
    let records = desk.run_folder("demo-tcp").join("records.jsonl");
    running.wait_for(|_| {
        let first = streams(&records).into_iter().next()?;
        (!stored::blocks(&first).is_empty()).then_some(())
    });
    running.signal_group(Signal::INT);
    let ended = running.end().exits(3);
    ended.says("demo-shm: not started");
    assert!(!desk.run_folder("demo-shm").join("run.json").exists());

    let ended = Running::start(short(desk.resume(&demo))).end();
    // One round is too few for any verdict; only that both are measured is asked.
    assert!(matches!(ended.status.code(), Some(0 | 1 | 3)), "{ended}");
    for name in ["demo-tcp", "demo-shm"] {
        Stored::read(&desk.run_folder(name)).is_complete();
    }
}

#[test]
fn ctrl_c_while_a_report_is_written_ends_the_command() {
    let desk = Desk::new();
    let folder = desk.run_folder(NAME);
    fs::create_dir_all(&folder).unwrap();
    // Who writes a report into a pipe waits for its reader.
    let pipe = folder.join("report.new");
    mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut running = Running::start(desk.run(&desk.manifest(&two(SHORT, &[ROUNDS]))));
    running.wait_for(|_| is_complete(&folder).then_some(()));
    running.signal(Signal::INT);
    let mut report = String::new();
    fs::File::open(&pipe)
        .unwrap()
        .read_to_string(&mut report)
        .unwrap();
    let ended = running.end().exits(3);
    assert!(report.contains("</html>"));
    ended.says(&format!("{SECOND}: not started"));
    assert!(!desk.run_folder(SECOND).join("run.json").exists());
}

fn is_complete(folder: &Path) -> bool {
    folder.join("run.json").exists()
        && stored::run(folder)
            .status
            .is_some_and(|status| status.state == Some(State::Complete))
}

#[test]
fn a_run_whose_workers_fail_stops_no_other() {
    let desk = Desk::new();
    let long = "[{name: small, pingPong: {sizes: [64], duration: 2s}}]";
    let mut running = Running::start(desk.run(&desk.manifest(&two(long, &[ROUNDS]))));
    kill_process(running.worker(1).id(), Signal::KILL).unwrap();
    let ended = running.end().exits(3);
    ended.says(&format!("{NAME}: worker 1 left with signal: 9"));
    Stored::read(&desk.run_folder(SECOND)).is_complete();
}

#[test]
fn a_folder_that_is_taken_is_found_before_anything_is_measured() {
    let desk = Desk::new();
    let taken = desk.run_folder(SECOND);
    fs::create_dir_all(&taken).unwrap();
    fs::write(taken.join("records.jsonl"), "measured\n").unwrap();
    let ended = Running::start(desk.run(&desk.manifest(&two(SHORT, &[ROUNDS]))))
        .end()
        .exits(2);
    ended.says("already holds measured records");
    assert!(!desk.run_folder(NAME).join("run.json").exists());
}

#[test]
fn a_folder_has_one_writer() {
    let desk = Desk::new();
    let long = "[{name: small, pingPong: {sizes: [64], duration: 5s}}]";
    let manifest = desk.manifest(&run(INJECT_64, LOOPBACK, long, &[ROUNDS]));
    let mut running = Running::start(desk.run(&manifest));
    let records = desk.run_folder(NAME).join("records.jsonl");
    running.wait_for(|_| (!streams(&records).is_empty()).then_some(()));
    for command in [desk.resume(&manifest), desk.run(&manifest)] {
        let mut command = command;
        let other = command.output().unwrap();
        let said = String::from_utf8_lossy(&other.stderr).into_owned();
        assert_eq!(other.status.code(), Some(2), "{said}");
        assert!(said.contains("another fabricbench writes"), "{said}");
    }
    running.signal(Signal::INT);
    running.end().exits(3);
    let before = streams(&records).len();
    assert_eq!(before, 1);
}

#[test]
fn an_image_for_the_whole_run_is_refused() {
    let desk = Desk::new();
    let manifest = run(INJECT_64, LOOPBACK, SHORT, &[ROUNDS, "image: vendor/runner:1"]);
    let ended = Running::start(desk.run(&desk.manifest(&manifest))).end().exits(2);
    ended.says("spec.image: images require a cluster");
    assert!(!desk.output().exists());
}
