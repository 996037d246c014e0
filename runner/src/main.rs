//! The instrument of fabricbench, with the transports it was built with.

use std::process::ExitCode;

use fabricbench_runner::cli;
use fabricbench_runner::transport::choice::BuiltIn;

fn main() -> ExitCode {
    cli::main_with(&BuiltIn)
}
