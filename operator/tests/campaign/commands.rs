//! What a user's shell, manual and kubectl get of the program.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use super::program::fabricbench;

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
