//! Starts the program of these tests, with the runner's image that the nodes have.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use super::operator::Operator;
use super::testbed::RUNNER_IMAGE;

/// Starts one whose log says every decision.
pub fn operator(kubeconfig: &Path, arguments: &[&str]) -> Operator {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench"));
    command.env("RUST_LOG", "info,fabricbench_operator=debug");
    Operator::spawn(command, kubeconfig, RUNNER_IMAGE, arguments)
}

/// Starts one whose log is written to `log`: what it says to people, without what is for debugging.
pub fn logged(kubeconfig: &Path, arguments: &[&str], log: &Path) -> Operator {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench"));
    command.env_remove("RUST_LOG").stderr(File::create(log).unwrap());
    Operator::spawn(command, kubeconfig, RUNNER_IMAGE, arguments)
}
