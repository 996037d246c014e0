//! The command line: one file a subcommand, each with its arguments and an `execute`.

mod cluster;
mod compare;
mod completions;
mod crd;
mod input;
mod logs;
mod man;
mod operator;
mod outcome;
mod plan;
mod report;
mod run;
mod source;
mod standing;
mod stored;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::{Command as Arguments, CommandFactory, FromArgMatches, Parser, Subcommand};

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
    Logs(logs::Logs),
    #[command(flatten)]
    InCluster(InClusterCommand),
    Completions(completions::Completions),
    Man(man::Man),
}

/// What of fabricbench runs in a cluster; plans, reports and comparisons are made by `fabricbench`.
//
// A program of its own, for what an operator is resident with is mostly its program: no report, no manifest from a file.
#[derive(Debug, Parser)]
#[command(name = "fabricbench-operator", version, propagate_version = true)]
struct InCluster {
    #[command(subcommand)]
    command: InClusterCommand,
}

#[derive(Debug, Subcommand)]
enum InClusterCommand {
    Crd(crd::Crd),
    Operator(Box<operator::Operator>),
}

impl InClusterCommand {
    fn execute(self) -> Result<Exit, Failure> {
        match self {
            Self::Crd(command) => command.execute(),
            Self::Operator(command) => (*command).execute(),
        }
    }
}

impl Command {
    fn execute(self) -> Result<Exit, Failure> {
        match self {
            Self::Run(command) => command.execute(),
            Self::Plan(command) => command.execute(),
            Self::Report(command) => command.execute(),
            Self::Compare(command) => command.execute(),
            Self::Logs(command) => command.execute(),
            Self::InCluster(command) => command.execute(),
            Self::Completions(command) => command.execute(),
            Self::Man(command) => command.execute(),
        }
    }
}

/// Name by which kubectl finds its plugin.
const PLUGIN: &str = "kubectl-fabricbench";

/// As it was called: a plugin of kubectl speaks of itself as the user does.
fn named(arguments: Arguments) -> Arguments {
    let program = std::env::args_os().next().unwrap_or_default();
    match Path::new(&program).file_stem().is_some_and(|name| name == PLUGIN) {
        true => arguments.bin_name("kubectl fabricbench"),
        false => arguments,
    }
}

/// Runs the command line of this process. Writes results to standard output and what went wrong to standard error.
pub fn main() -> ExitCode {
    let parsed = Cli::from_arg_matches(&named(Cli::command()).get_matches());
    let cli = parsed.unwrap_or_else(|error| error.exit());
    ended(cli.command.execute())
}

/// The same for the program that runs in a cluster.
pub fn main_in_cluster() -> ExitCode {
    ended(InCluster::parse().command.execute())
}

fn ended(executed: Result<Exit, Failure>) -> ExitCode {
    let exit = executed.unwrap_or_else(|failure| {
        // Nobody is left to tell when standard error is closed.
        let message = failure.to_string();
        if !message.is_empty() {
            let _ = writeln!(std::io::stderr(), "{message}");
        }
        failure.exit
    });
    exit.into()
}
