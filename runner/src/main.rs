//! The runner of fabricbench with the built-in transports.

use std::process::ExitCode;

use fabricbench_runner::cli;
use fabricbench_runner::transport::choice::BuiltIn;

fn main() -> ExitCode {
    cli::main_with(&BuiltIn)
}
