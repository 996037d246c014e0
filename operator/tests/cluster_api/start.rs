//! Starts the operator binary with debug logs, which contain every decision.

use std::path::Path;
use std::process::Command;

use super::operator::Operator;

impl Operator {
    /// Starts an operator for `namespace` with leader election in the same namespace.
    pub fn start(kubeconfig: &Path, namespace: &str) -> Self {
        Self::start_with(kubeconfig, namespace, &["--lease-namespace", namespace])
    }

    /// Starts an operator for `namespace` without leader election.
    pub fn start_without_election(kubeconfig: &Path, namespace: &str) -> Self {
        Self::start_with(kubeconfig, namespace, &["--no-leader-election"])
    }

    fn start_with(kubeconfig: &Path, namespace: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench-operator"));
        command.env("RUST_LOG", "info,fabricbench_operator=debug");
        let scope = ["--namespace", namespace];
        let arguments = [&scope[..], arguments].concat();
        Self::spawn(command, kubeconfig, "example.test/runner:1", &arguments)
    }
}
