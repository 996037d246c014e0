//! Runner binary with the built-in transports and verbs.

use std::process::ExitCode;

use fabricbench_runner_verbs::WithVerbs;
use runner::cli;

fn main() -> ExitCode {
    cli::main_with(&WithVerbs)
}
