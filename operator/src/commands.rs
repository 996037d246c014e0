//! Command line of `fabricbench-operator`, with one file per subcommand. `fabricbench` also has these subcommands.

mod arguments;
mod crd;
mod exit;
mod namespaces;
mod operator;
mod prepare_uninstall;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use arguments::parse_arguments;
pub use exit::{Exit, Failure, exit_code};

/// The fabricbench operator. Use the `fabricbench` binary for plans, reports and comparisons.
//
// This is a separate binary that contains neither the reports nor the manifest parser, because the binary's code
// accounts for most of the operator's resident memory.
#[derive(Debug, Parser)]
#[command(name = "fabricbench-operator", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: InClusterCommand,
}

/// Subcommands that run in a cluster.
#[derive(Debug, Subcommand)]
#[allow(
    missing_docs,
    reason = "a comment here would replace the help text of the subcommand"
)]
pub enum InClusterCommand {
    Crd(crd::Crd),
    Operator(Box<operator::Operator>),
    PrepareUninstall(prepare_uninstall::PrepareUninstall),
}

impl InClusterCommand {
    /// Executes the subcommand.
    ///
    /// # Errors
    /// Returns an error if the command line is invalid, or the command could not complete.
    pub fn execute(self) -> Result<Exit, Failure> {
        match self {
            Self::Crd(command) => command.execute(),
            Self::Operator(command) => (*command).execute(),
            Self::PrepareUninstall(command) => command.execute(),
        }
    }
}

/// Runs the command line of this process. Writes results to standard output and errors to standard error.
pub fn main() -> ExitCode {
    match parse_arguments::<Cli>(|command| command) {
        Ok(cli) => exit_code(cli.command.execute()),
        Err(status) => status,
    }
}
