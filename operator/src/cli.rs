//! The command line: one file a subcommand, each with its arguments and an `execute`.

mod compare;
mod crd;
mod input;
mod operator;
mod outcome;
mod plan;
mod report;
mod run;
mod source;
mod stored;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use input::Input;
pub use outcome::{Exit, Failure};

/// Is variant B better than A on this fabric, at which sizes, by how much, and how sure is that?
#[derive(Debug, Parser)]
#[command(name = "fabricbench", version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Plan(plan::Plan),
    Report(report::Report),
    Compare(compare::Compare),
    Crd(crd::Crd),
    Operator(operator::Operator),
}

impl Command {
    fn execute(self) -> Result<Exit, Failure> {
        match self {
            Self::Run(command) => command.execute(),
            Self::Plan(command) => command.execute(),
            Self::Report(command) => command.execute(),
            Self::Compare(command) => command.execute(),
            Self::Crd(command) => command.execute(),
            Self::Operator(command) => command.execute(),
        }
    }
}

/// Runs the command line of this process. Writes results to standard output and what went wrong to standard error.
pub fn main() -> ExitCode {
    let exit = Cli::parse().command.execute().unwrap_or_else(|failure| {
        // Nobody is left to tell when standard error is closed.
        let message = failure.to_string();
        if !message.is_empty() {
            let _ = writeln!(std::io::stderr(), "{message}");
        }
        failure.exit
    });
    exit.into()
}
