//! Starts the operator binary with the runner image loaded on the nodes, and `fabricbench` commands.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use super::testbed::RUNNER_IMAGE;
use test_support::operator::{Operator, set_clock_ahead};

/// Starts an operator with debug logs, which contain every decision.
pub fn operator(kubeconfig: &Path, arguments: &[&str]) -> Operator {
    operator_with_clock(kubeconfig, arguments, 0)
}

/// Like [`operator`], with a clock that is `seconds` ahead.
pub fn operator_with_clock(kubeconfig: &Path, arguments: &[&str], seconds: i64) -> Operator {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench-operator"));
    command.env("RUST_LOG", "info,fabricbench_operator=debug");
    if seconds != 0 {
        set_clock_ahead(&mut command, seconds);
    }
    Operator::spawn(command, kubeconfig, RUNNER_IMAGE, arguments)
}

/// Starts an operator with the default log level and writes its log to the file `log`.
pub fn operator_with_log(kubeconfig: &Path, arguments: &[&str], log: &Path) -> Operator {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabricbench-operator"));
    command.env_remove("RUST_LOG").stderr(File::create(log).unwrap());
    Operator::spawn(command, kubeconfig, RUNNER_IMAGE, arguments)
}

/// Creates a `fabricbench` command that uses the test cluster.
pub fn fabricbench() -> Command {
    test_support::cluster::fabricbench(env!("CARGO_BIN_EXE_fabricbench-operator"))
}
