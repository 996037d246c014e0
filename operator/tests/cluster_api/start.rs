//! Starts the operator binary with debug logs, which contain every decision.

use std::path::Path;
use std::process::Command;

use test_support::operator::{Operator, set_clock_ahead};

const RUNNER_IMAGE: &str = "example.test/runner:1";

/// Starts an operator for `namespace` with leader election in the same namespace.
pub fn with_election(kubeconfig: &Path, namespace: &str) -> Operator {
    with_arguments(kubeconfig, namespace, &["--lease-namespace", namespace])
}

/// Starts an operator for `namespace` without leader election.
pub fn without_election(kubeconfig: &Path, namespace: &str) -> Operator {
    with_arguments(kubeconfig, namespace, &["--no-leader-election"])
}

/// Starts an operator for all namespaces, which reads nodes, without leader election.
pub fn for_all_namespaces(kubeconfig: &Path) -> Operator {
    spawn(kubeconfig, &["--no-leader-election"])
}

/// Starts an operator for `namespace` with further arguments.
pub fn with_arguments(kubeconfig: &Path, namespace: &str, arguments: &[&str]) -> Operator {
    let scope = ["--namespace", namespace];
    spawn(kubeconfig, &[&scope[..], arguments].concat())
}

/// Starts an operator for `namespace` without leader election, whose clock is `seconds` ahead.
pub fn with_clock_ahead(seconds: i64, kubeconfig: &Path, namespace: &str) -> Operator {
    let mut command = command();
    set_clock_ahead(&mut command, seconds);
    let arguments = ["--namespace", namespace, "--no-leader-election"];
    Operator::spawn(command, kubeconfig, RUNNER_IMAGE, &arguments)
}

fn spawn(kubeconfig: &Path, arguments: &[&str]) -> Operator {
    Operator::spawn(command(), kubeconfig, RUNNER_IMAGE, arguments)
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench-operator"));
    command.env("RUST_LOG", "info,fabricbench_operator=debug");
    command
}

/// Creates a `fabricbench` command that uses the API server.
pub fn fabricbench() -> Command {
    test_support::cluster::fabricbench(env!("CARGO_BIN_EXE_fabricbench-operator"))
}
