//! Lost connections to workers on other machines: no process survives, and a resumed run measures the missing blocks.

use rustix::process::{Pid, Signal, kill_process};

use super::fabric::Fabric;
use crate::harness::{RunningCommand, TestDir};
use crate::manifest::{INJECT_64, NAME, TCP, run};
use crate::stored_run::{StoredRun, blocks, streams};

const LONG: &str = "[{name: small, pingPong: {sizes: [64, 128], duration: 700ms}}]";
const REST: [&str; 2] = [
    "sampling: {rounds: 2, control: false}",
    "runPolicy: {caseDeadlineSeconds: 10}",
];

/// Starts a campaign over SSH. Returns after its third block.
fn start(fabric: &Fabric, dir: &TestDir) -> RunningCommand {
    let mut command = dir.run(&dir.manifest(&run(INJECT_64, TCP, LONG, &REST)));
    command.args(fabric.options(&fabric.ssh()));
    let mut running = RunningCommand::start(command);
    let records = dir.run_dir(NAME).join("records.jsonl");
    running.wait_for(|_| {
        let done = streams(&records).first().map(|stream| blocks(stream).len());
        (done == Some(3)).then_some(())
    });
    assert!(fabric.processes().len() >= 4, "two workers and their instruments");
    running
}

/// Resumes the run. Checks that only missing blocks are measured.
fn check_resume(fabric: &Fabric, dir: &TestDir) {
    let directory = dir.run_dir(NAME);
    let kept = blocks(&streams(&directory.join("records.jsonl"))[0]);
    let mut command = dir.resume(&dir.manifest(&run(INJECT_64, TCP, LONG, &REST)));
    command.args(fabric.options(&fabric.ssh()));
    RunningCommand::start(command).wait().expect_code(0);
    let stored = StoredRun::read(&directory);
    stored.assert_complete();
    assert!(stored.blocks()[1].is_disjoint(&kept), "measured twice");
    fabric.assert_no_processes();
}

#[test]
fn killed_command_leaves_no_process_on_the_machines() {
    let Some(fabric) = Fabric::create() else { return };
    let dir = TestDir::new();
    let running = start(&fabric, &dir);
    running.signal(Signal::KILL);
    fabric.assert_no_processes();
    running.wait().expect_signal(Signal::KILL);
    check_resume(&fabric, &dir);
}

#[test]
fn killed_launcher_ends_the_attempt_and_names_the_machine() {
    let Some(fabric) = Fabric::create() else { return };
    let dir = TestDir::new();
    let mut running = start(&fabric, &dir);
    let clients = running.processes().into_iter().filter(|one| {
        one.arguments.first().is_some_and(|program| program == "ssh")
            && one.arguments.contains(&"10.77.0.2".to_owned())
    });
    let client = clients.map(|one| one.pid).max().unwrap();
    kill_process(Pid::from_raw(client as i32).unwrap(), Signal::KILL).unwrap();
    let output = running.wait().expect_code(3);
    output.expect_stderr("worker 1 (10.77.0.2) terminated with signal: 9");
    output.expect_stderr("--worker 10.77.0.1 --worker 10.77.0.2 --launcher 'ip netns exec ");
    fabric.assert_no_processes();
    check_resume(&fabric, &dir);
}

/// Worker 1 cannot be reached any more, and its machine closes no connection.
#[test]
fn lost_network_ends_the_attempt_on_both_sides() {
    let Some(fabric) = Fabric::create() else { return };
    let dir = TestDir::new();
    let running = start(&fabric, &dir);
    fabric.cut();
    let output = running.wait();
    output.expect_stdout("rank 1 was lost");
    fabric.assert_no_processes();
    fabric.repair();
    check_resume(&fabric, &dir);
}
