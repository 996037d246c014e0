//! `fabricbench`: campaigns on RDMA fabrics, from a file to a verdict.

use std::process::ExitCode;

fn main() -> ExitCode {
    fabricbench_operator::cli::main()
}
