//! Command line. Each subcommand has a file with its arguments and an `execute` method; the subcommands that run in a
//! cluster are in the `operator` crate.

mod cluster;
mod compare;
mod completions;
mod explain;
mod import;
mod imported;
mod init;
mod input;
mod logs;
mod man;
mod measure;
mod metadata;
mod output;
mod plan;
mod replay;
mod report;
mod run;
mod source;
mod state_summary;
mod stored;

use std::path::Path;
use std::process::ExitCode;

use clap::{Command as Arguments, Parser, Subcommand};

use operator::commands::{Exit, Failure, InClusterCommand, exit_code, parse_arguments};

pub use input::Input;

/// Benchmarks variants on an RDMA fabric: shows which variants are better, at which message sizes, by how much, and
/// with what confidence
#[derive(Debug, Parser)]
#[command(name = "fabricbench", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Init(init::Init),
    Plan(plan::Plan),
    Report(report::Report),
    Compare(compare::Compare),
    Replay(replay::Replay),
    Import(import::Import),
    Logs(logs::Logs),
    Measure(Box<measure::Measure>),
    Metadata(metadata::Metadata),
    Explain(explain::Explain),
    #[command(flatten)]
    InCluster(InClusterCommand),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    fn execute(self) -> Result<Exit, Failure> {
        match self {
            Self::Run(command) => command.execute(),
            Self::Init(command) => command.execute(),
            Self::Plan(command) => command.execute(),
            Self::Report(command) => command.execute(),
            Self::Compare(command) => command.execute(),
            Self::Replay(command) => command.execute(),
            Self::Import(command) => command.execute(),
            Self::Logs(command) => command.execute(),
            Self::Measure(command) => (*command).execute(),
            Self::Metadata(command) => command.execute(),
            Self::Explain(command) => command.execute(),
            Self::InCluster(command) => command.execute(),
            Self::Completions(command) => command.execute(),
            Self::Man(command) => command.execute(),
        }
    }
}

/// kubectl plugin binary name.
const PLUGIN: &str = "kubectl-fabricbench";

/// Uses the command name `kubectl fabricbench` in help texts if the binary is invoked as a kubectl plugin.
fn with_plugin_name(arguments: Arguments) -> Arguments {
    let binary = std::env::args_os().next().unwrap_or_default();
    match Path::new(&binary).file_stem().is_some_and(|name| name == PLUGIN) {
        true => arguments.bin_name("kubectl fabricbench"),
        false => arguments,
    }
}

/// Runs the command line of this process. Writes results to standard output and errors to standard error.
pub fn main() -> ExitCode {
    match parse_arguments::<Cli>(with_plugin_name) {
        Ok(cli) => exit_code(cli.command.execute()),
        Err(status) => status,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn flags_describe_bad_values_in_plain_words() {
        let checked = test_support::flags::check_messages_about_bad_values(&Cli::command());
        assert!(checked > 20, "{checked}");
    }
}
