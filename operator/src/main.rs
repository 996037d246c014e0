//! `fabricbench-operator`: runs the operator, and prints or applies the CustomResourceDefinition that it needs.

use std::process::ExitCode;

fn main() -> ExitCode {
    fabricbench_operator::commands::main()
}
