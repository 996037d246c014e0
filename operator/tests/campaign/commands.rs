//! What a user's shell, manual and kubectl get of the program.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use super::program::{Running, fabricbench};

fn succeeded(mut command: Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    assert!(status.success(), "{status}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

#[test]
fn a_shell_completes_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = succeeded(fabricbench(["completions", shell]));
        for command in ["run", "plan", "report", "compare", "logs", "operator"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("man1");
    succeeded(fabricbench(["man", place.to_str().unwrap()]));
    for page in [
        "fabricbench.1",
        "fabricbench-run.1",
        "fabricbench-report.1",
        "fabricbench-logs.1",
    ] {
        let text = fs::read_to_string(place.join(page)).unwrap();
        assert!(text.contains(".TH fabricbench"), "{page}: {text:.200}");
    }
}

#[test]
fn kubectl_finds_a_plugin_that_speaks_as_it_was_called() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("kubectl-fabricbench");
    symlink(env!("CARGO_BIN_EXE_fabricbench"), &plugin).unwrap();
    let mut command = Command::new(&plugin);
    command.args(["report", "--help"]);
    let help = succeeded(command);
    assert!(help.contains("Usage: kubectl fabricbench report"), "{help}");
}

#[test]
fn logs_are_of_a_run_in_a_cluster() {
    let output = fabricbench(["logs", "./folder/"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("NAMESPACE/NAME"), "{said}");
}

#[test]
fn a_cluster_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    let report = || {
        let mut command = fabricbench(["report", "default/run"]);
        command.env("KUBECONFIG", &file);
        Running::start(command).end().exits(3)
    };
    let missing = format!("no cluster configuration: {}: No such file", file.display());
    report().says(&missing);

    // Nobody listens on this port.
    let cluster = "{name: c, cluster: {server: \"http://127.0.0.1:1\"}}";
    let config = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, clusters: [{cluster}], users: [{{name: c, user: {{}}}}], \
         contexts: [{{name: c, context: {{cluster: c, user: c}}}}]}}"
    );
    std::fs::write(&file, config).unwrap();
    let ended = report();
    ended.says("no response from http://127.0.0.1:1");
    ended.says("Connection refused");
    ended.says("Check KUBECONFIG");
}

#[test]
fn a_negative_number_is_a_number() {
    let lines = Running::start(fabricbench(["logs", "default/run", "--tail", "-1"]));
    lines.end().exits(2).says("-1 is not in 0..");
    let seed = Running::start(fabricbench(["plan", "examples/demo.yaml", "--seed", "-1"]));
    seed.end().exits(2).says("-1 is not in 0..");
}
