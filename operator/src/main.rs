//! `fabricbench-operator`: the operator, and the custom resource definition that it needs.

use std::process::ExitCode;

fn main() -> ExitCode {
    fabricbench_operator::commands::main()
}
