//! `fabricbench`: plans, runs and evaluates benchmark campaigns on RDMA fabrics.

use std::process::ExitCode;

fn main() -> ExitCode {
    fabricbench_cli::commands::main()
}
