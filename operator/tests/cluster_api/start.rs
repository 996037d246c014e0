//! Starts the program of these tests, whose log says every decision.

use std::path::Path;
use std::process::Command;

use super::operator::Operator;

impl Operator {
    /// Starts one for `namespace`, whose Lease is there as well.
    pub fn start(kubeconfig: &Path, namespace: &str) -> Self {
        Self::start_with(kubeconfig, namespace, &["--lease-namespace", namespace])
    }

    /// Starts one that acts at once: no other will run beside it.
    pub fn start_alone(kubeconfig: &Path, namespace: &str) -> Self {
        Self::start_with(kubeconfig, namespace, &["--no-leader-election"])
    }

    fn start_with(kubeconfig: &Path, namespace: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench"));
        command.env("RUST_LOG", "info,fabricbench_operator=debug");
        let place = ["--namespace", namespace];
        let arguments = [&place[..], arguments].concat();
        Self::spawn(command, kubeconfig, "example.test/runner:1", &arguments)
    }
}
