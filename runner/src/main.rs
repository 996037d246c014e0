//! Runner binary with the built-in transports.

use std::process::ExitCode;

use fabricbench_runner::cli;
use fabricbench_runner::instrument::select::BuiltInTransports;

fn main() -> ExitCode {
    cli::main_with(&BuiltInTransports)
}
