//! `fabricbench-operator`: the subcommands of `fabricbench` that run in a cluster.

use std::process::ExitCode;

fn main() -> ExitCode {
    fabricbench_operator::cli::main_in_cluster()
}
