//! Shell completion, manual pages, the kubectl plugin and command-line error messages.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use super::harness::{RunningCommand, fabricbench};

/// Runs `command`, which must succeed, and returns its standard output.
fn stdout_of(mut command: Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    assert!(status.success(), "{status}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

#[test]
fn completions_contain_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout_of(fabricbench(["completions", shell]));
        for command in ["run", "plan", "report", "compare", "import", "logs", "operator"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn writes_a_manual_page_for_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let man_dir = directory.path().join("man1");
    stdout_of(fabricbench(["man", man_dir.to_str().unwrap()]));
    for page in [
        "fabricbench.1",
        "fabricbench-run.1",
        "fabricbench-report.1",
        "fabricbench-import.1",
        "fabricbench-logs.1",
    ] {
        let text = fs::read_to_string(man_dir.join(page)).unwrap();
        assert!(text.contains(".TH fabricbench"), "{page}: {text:.200}");
    }
}

#[test]
fn help_of_the_kubectl_plugin_contains_the_plugin_name() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = directory.path().join("kubectl-fabricbench");
    symlink(env!("CARGO_BIN_EXE_fabricbench"), &plugin).unwrap();
    let mut command = Command::new(&plugin);
    command.args(["report", "--help"]);
    let help = stdout_of(command);
    assert!(help.contains("Usage: kubectl fabricbench report"), "{help}");
}

#[test]
fn logs_requires_a_run_in_a_cluster() {
    let output = fabricbench(["logs", "./directory/"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("NAMESPACE/NAME"), "{stderr}");
}

#[test]
fn reports_the_address_of_an_unreachable_cluster() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config");
    let report = || {
        let mut command = fabricbench(["report", "default/run"]);
        command.env("KUBECONFIG", &file);
        RunningCommand::start(command).wait().expect_code(3)
    };
    let missing = format!(
        "default/run: no such directory exists, so this is the NAMESPACE/NAME of a run in a cluster: no cluster configuration: \
         {}: no such file or directory. Check the path. Set KUBECONFIG",
        file.display()
    );
    report().expect_stderr(&missing);

    // Connections to this port are refused.
    let cluster = "{name: c, cluster: {server: \"http://127.0.0.1:1\"}}";
    let config = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, clusters: [{cluster}], users: [{{name: c, user: {{}}}}], \
         contexts: [{{name: c, context: {{cluster: c, user: c}}}}]}}"
    );
    std::fs::write(&file, config).unwrap();
    let output = report();
    output.expect_stderr("no response from http://127.0.0.1:1");
    output
        .expect_stderr("connection refused. Check that the API server runs, and that KUBECONFIG is the file");
    for arguments in [&["prepare-uninstall"][..], &["crd", "--apply"]] {
        let mut command = fabricbench([]);
        command.args(arguments).env("KUBECONFIG", &file);
        let output = RunningCommand::start(command).wait().expect_code(3);
        output.expect_stderr(
            "no response from http://127.0.0.1:1/: connection refused. Check that the API server runs",
        );
    }
}

#[test]
fn rejects_negative_numbers() {
    let lines = RunningCommand::start(fabricbench(["logs", "default/run", "--tail", "-1"]));
    lines
        .wait()
        .expect_code(2)
        .expect_stderr("use a whole number from 0 to");
    let seed = RunningCommand::start(fabricbench(["plan", "examples/demo.yaml", "--seed", "-1"]));
    seed.wait()
        .expect_code(2)
        .expect_stderr("use a whole number from 0 to");
}
