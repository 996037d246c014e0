//! Machines that cannot be used are named with the cause, before anything is measured.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::fabric::{ADDRESSES, Fabric};
use crate::harness::{RunningCommand, TestDir, fabricbench};
use crate::manifest::{INJECT_64, SHORT, TCP, run};

/// Standard error of a run that cannot start, with the options `options`.
fn rejected(options: &[String], code: i32) -> String {
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(&run(INJECT_64, TCP, SHORT, &[])));
    command.args(options);
    let output = RunningCommand::start(command).wait().expect_code(code);
    assert!(!dir.output_dir().exists(), "nothing was measured");
    output.stderr
}

fn options(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn options_that_name_no_machines_are_rejected() {
    let three = rejected(&options(&["--worker", "a", "--worker", "b", "--worker", "c"]), 2);
    assert!(
        three.contains(
            "has 2 workers, but --worker is given 3 times. Give it once for each worker, or set spec.placement.workers"
        ),
        "{three}"
    );
    let logs = rejected(
        &options(&["--worker", "a", "--worker", "b", "--keep-logs", "d"]),
        2,
    );
    assert!(logs.contains("--keep-logs"), "{logs}");
    let launcher = rejected(
        &options(&["--worker", "a", "--worker", "b", "--launcher", "ssh a"]),
        2,
    );
    assert!(launcher.contains("must contain {host}"), "{launcher}");
    let option = rejected(&options(&["--worker=-oProxyCommand=id", "--worker", "b"]), 2);
    assert!(option.contains("must not start with '-'"), "{option}");
}

#[test]
fn every_machine_that_does_not_answer_is_named() {
    let Some(fabric) = Fabric::create() else { return };
    let hosts = ["--worker", "10.77.0.1", "--worker", "10.77.0.9", "--launcher"];
    let mut words = options(&hosts);
    words.push(fabric.ssh());
    let stderr = rejected(&words, 3);
    assert!(
        stderr.contains("10.77.0.9: ") && stderr.contains("did not start a shell"),
        "{stderr}"
    );
    assert!(!stderr.contains("10.77.0.1: "), "{stderr}");
}

#[test]
fn workers_on_one_machine_can_have_different_addresses() {
    let Some(fabric) = Fabric::create() else {
        return;
    };
    let [machine, _] = fabric.machines();
    let workers = ["10.77.0.1", "127.0.0.1"].map(|address| format!("{machine}={address}"));
    let mut words = options(&["--worker", &workers[0], "--worker", &workers[1], "--launcher"]);
    words.push(fabric.enter());
    let stderr = rejected(&words, 3);
    let expected = format!("{machine}: its address 127.0.0.1 is not reachable from the other machines");
    assert!(stderr.contains(&expected), "{stderr}");
    assert!(!fabric.worker_directory().exists(), "the runner was copied");
}

#[test]
fn a_machine_without_space_is_named() {
    let small = |directory: &Path| {
        fs::create_dir(directory).unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(directory);
        assert!(mount.status().unwrap().success());
    };
    let Some(fabric) = Fabric::with_directory(small) else {
        return;
    };
    let stderr = rejected(&fabric.options(&fabric.ssh()), 3);
    let directory = fabric.worker_directory();
    // The machines still use the file system.
    let mut unmount = Command::new("umount");
    assert!(unmount.arg("--lazy").arg(&directory).status().unwrap().success());
    for address in ADDRESSES {
        assert!(
            stderr.contains(&format!("{address}: the runner could not be copied")),
            "{stderr}"
        );
    }
    assert!(stderr.contains("No space left on device"), "{stderr}");
}

#[test]
fn a_runner_for_another_architecture_is_not_copied() {
    let Some(fabric) = Fabric::create() else { return };
    let dir = TestDir::new();
    let runner = dir.output_dir().with_file_name("other");
    let mut header = vec![0; 64];
    // A 64-bit little-endian ELF file for a machine that this one is not.
    let other = if cfg!(target_arch = "x86_64") { 183 } else { 62 };
    header[..6].copy_from_slice(b"\x7fELF\x02\x01");
    header[18] = other;
    fs::write(&runner, header).unwrap();
    let mut words = fabric.options(&fabric.ssh());
    words.extend(["--runner".to_owned(), runner.display().to_string()]);
    let stderr = rejected(&words, 3);
    assert!(stderr.contains("10.77.0.1: it runs Linux on"), "{stderr}");
    assert!(
        stderr.contains("set --runner to one for that machine"),
        "{stderr}"
    );
}

#[test]
fn a_changed_runner_is_copied_again() {
    let Some(fabric) = Fabric::create() else { return };
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(
        INJECT_64,
        TCP,
        SHORT,
        &["sampling: {rounds: 2, control: false}"],
    ));
    let measure = |output: &str| {
        let mut command = fabricbench(["run", &manifest, "--output", output]);
        command.args(fabric.options(&fabric.enter()));
        RunningCommand::start(command).wait().expect_code(0).stderr
    };
    let output = |name: &str| dir.output_dir().with_file_name(name).display().to_string();
    assert!(measure(&output("first")).contains("copied"));
    assert!(!measure(&output("second")).contains("copied"));
    let copy = fs::read_dir(fabric.worker_directory())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::write(&copy, "#!/bin/sh\nexit 1\n").unwrap();
    assert!(measure(&output("third")).contains("copied"));
}
