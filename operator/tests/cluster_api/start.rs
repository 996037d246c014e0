//! Starts the operator binary with debug logs, which contain every decision.

use std::path::Path;
use std::process::Command;

use test_support::operator::Operator;

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

fn spawn(kubeconfig: &Path, arguments: &[&str]) -> Operator {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench-operator"));
    command.env("RUST_LOG", "info,fabricbench_operator=debug");
    Operator::spawn(command, kubeconfig, "example.test/runner:1", arguments)
}
