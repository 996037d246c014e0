//! `fabricbench-operator`: what runs in a cluster, without the rest of `fabricbench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fabricbench_operator::cli::main_in_cluster()
}
