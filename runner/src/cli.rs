//! Command line of `fabricbench-runner`.

mod arguments;

use std::env;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use crds::deserialization::from_json;
use crds::number::whole_number;
use tracing_subscriber::EnvFilter;

use self::arguments::{CommandLine, Role};
use crate::configuration::preview::preview;
use crate::direct::DirectError;
use crate::direct::connect::{ConnectFlags, connect};
use crate::direct::loopback::{LoopbackFlags, loopback};
use crate::direct::segment::initiator::{InitiatorFlags, initiator};
use crate::direct::segment::target::{TargetFlags, target};
use crate::direct::serve::{ServeFlags, serve};
use crate::extension::{self, ExtensionOptions};
use crate::instrument::select::TransportSelector;
use crate::rendezvous::server::Server;
use crate::worker::{self, WorkerOptions};
use crate::{command, configuration, copy_library, ffi, install, instrument, probe};

/// Runs on each node of a benchmark, transfers data over the fabric, and reports measurements.
#[derive(Debug, Parser)]
#[command(
    name = "fabricbench-runner",
    version,
    after_help = "With the command lines of the original benchmarks:\n  \
                  transfer-engine FLAGS      target, or initiator if --remote_segment names a segment\n  \
                  starway --role ROLE FLAGS  serve, connect or loopback (server, client, loopback)"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run one worker of a campaign leg. The worker with rank 0 is the coordinator and writes the records to standard
    /// output.
    Worker {
        /// Assignment file. All ranks read the same file. With `-`, a line on standard input, which must then stay open
        /// and receive an empty line at least every 30 seconds; otherwise, the worker stops.
        #[arg(long, value_name = "FILE")]
        assignment: PathBuf,
        /// Rank of this worker, starting at 0.
        #[arg(long, env = crds::names::ENV_RANK,
            allow_negative_numbers = true, value_parser = whole_number(0..=u32::MAX))]
        rank: u32,
        /// File to which rank 0 copies its end record. Defaults to /dev/termination-log if that file is writable.
        #[arg(long, value_name = "FILE")]
        termination_message: Option<PathBuf>,
        /// Parent process ID. The worker stops when the parent exits.
        #[arg(long, value_name = "PID",
            allow_negative_numbers = true, value_parser = whole_number(0..=u32::MAX))]
        parent: Option<u32>,
        /// Server that becomes rank 1, as JSON. The client roles set it.
        #[arg(long, value_name = "JSON", hide = true)]
        server: Option<Server>,
    },
    /// Measure with clients on other machines: wait for `connect`, and run the server side of its scenarios.
    ///
    /// Serves one client after another until SIGINT or SIGTERM arrives or, with --clients, until that many have been
    /// served. A client that connects during a session waits. A client can choose the transport, the scenarios of `connect`,
    /// message sizes up to --max-bytes, operation counts up to 1000000 and the kind of memory. It cannot choose files,
    /// libraries, environment variables or devices of this machine. Any other connection to the port is rejected, and the
    /// server continues to wait. Connections are neither authenticated nor encrypted, so listen only on a network where you
    /// trust every machine.
    Serve(Box<ServeFlags>),
    /// Measure scenarios of the Starway benchmark suite with a `serve` process on another machine, and print the
    /// results.
    Connect(Box<ConnectFlags>),
    /// Measure scenarios of the Starway benchmark suite between two processes on this machine, and print the results.
    Loopback(Box<LoopbackFlags>),
    /// Offer a segment to an `initiator` on another machine: register memory, print the segment name and the initiator
    /// command, and serve one initiator after another until SIGINT or SIGTERM arrives.
    ///
    /// Connections are neither authenticated nor encrypted, so listen only on a network where you trust every machine.
    #[command(args_override_self = true)]
    Target(Box<TargetFlags>),
    /// Read from or write to the segment of a `target` process with the workloads of the Transfer Engine Benchmark, and
    /// print the results.
    #[command(args_override_self = true)]
    Initiator(Box<InitiatorFlags>),
    /// Run an instrument process. Workers start this command.
    #[command(hide = true)]
    Instrument {
        /// Worker process ID.
        #[arg(long, allow_negative_numbers = true, value_parser = whole_number(0..=u32::MAX))]
        parent: u32,
    },
    /// Run an extension, which handles calls from an instrument. Instruments start this command.
    #[command(hide = true)]
    Extension {
        /// Instrument process ID.
        #[arg(long, allow_negative_numbers = true, value_parser = whole_number(0..=u32::MAX))]
        parent: u32,
        /// Connect to a TCP port of the instrument instead of using the socket on standard input.
        #[arg(long)]
        tcp: bool,
    },
    /// Supervise an external command. Instruments start this command.
    #[command(hide = true)]
    Supervise,
    /// Assess environment variables and loaded files. Instruments start this command.
    #[command(hide = true)]
    Assess,
    /// Try one transport or memory kind. `probe` starts this command.
    #[command(hide = true)]
    Attempt {
        /// Transport or memory kind as JSON.
        target: String,
    },
    /// Copy this binary to a directory, for containers whose image does not contain it.
    Install {
        /// Target directory.
        directory: PathBuf,
    },
    /// Copy a directory of libraries to a volume, for pods that load libraries from several images.
    CopyLibrary {
        /// Directory with the libraries.
        from: PathBuf,
        /// Existing directory to which the libraries are copied.
        to: PathBuf,
    },
    /// Show what the library of a transport knows about environment variables, as JSON in the last line of the output.
    Variables {
        /// Transport, as JSON in the form of spec.transport, such as '{"libfabric": {"provider": "tcp"}}'.
        #[arg(long, value_name = "JSON")]
        transport: String,
        /// Directory from which the library is loaded.
        #[arg(long, value_name = "DIR")]
        library: Option<PathBuf>,
        /// Names of the variables.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Show which transports, providers, devices and memory kinds are available on this machine, and why others are
    /// not.
    Probe {
        /// Output format.
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Table.
    Text,
    /// JSON document.
    Json,
}

/// Prints the help of all roles of a benchmark.
fn print_help(command: &mut clap::Command, roles: &[Role]) {
    let mut text = String::new();
    for (flags, subcommand) in roles {
        if let Some(found) = command.find_subcommand_mut(subcommand) {
            text += &format!("Role {subcommand} ({flags}): {}\n", found.render_long_help());
        }
    }
    // A reader that closed the output needs no more help.
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Runs the command line with the transports of `selector`.
///
/// The exit status is 0 on success, 2 if the command line, the assignment or the request is invalid, and 3 if the
/// attempt is incomplete or the command fails.
pub fn main_with(selector: &dyn TransportSelector) -> ExitCode {
    let mut command = Cli::command();
    let cli = match arguments::rewrite(env::args_os().collect(), &mut command) {
        Ok(CommandLine::Arguments(arguments)) => Cli::parse_from(arguments),
        Ok(CommandLine::Help(roles)) => {
            print_help(&mut command, roles);
            return ExitCode::SUCCESS;
        }
        Err(message) => Cli::command().error(ErrorKind::ValueValidation, message).exit(),
    };
    let filter = EnvFilter::try_from_env(crds::names::ENV_LOG).unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .init();
    let (status, error) = match cli.command {
        Command::Worker {
            assignment,
            rank,
            termination_message,
            parent,
            server,
        } => {
            let options = WorkerOptions {
                assignment,
                rank,
                termination_message,
                parent,
                server,
            };
            match worker::run(&options) {
                Ok(()) => (0, None),
                Err(error) => (error.status(), Some(format!("rank {rank}: {error}"))),
            }
        }
        Command::Serve(flags) => direct_status(serve(&flags)),
        Command::Connect(flags) => direct_status(connect(&flags)),
        Command::Loopback(flags) => direct_status(loopback(&flags)),
        Command::Target(flags) => direct_status(target(&flags)),
        Command::Initiator(flags) => direct_status(initiator(&flags)),
        Command::Instrument { parent } => match instrument::run(selector, parent) {
            Ok(()) => (0, None),
            Err(error) => (3, Some(error.to_string())),
        },
        Command::Extension { parent, tcp } => match extension::run(ExtensionOptions { parent, tcp }) {
            Ok(()) => (0, None),
            Err(error) => (3, Some(error.to_string())),
        },
        Command::Supervise => match command::run() {
            Ok(()) => (0, None),
            Err(error) => (3, Some(error.to_string())),
        },
        Command::Assess => match configuration::assess::run() {
            // Some libraries crash in their exit handlers.
            Ok(()) => ffi::exit_now(0),
            Err(error) => (3, Some(error.to_string())),
        },
        Command::Attempt { target } => match print_attempt(selector, &target) {
            Ok(()) => ffi::exit_now(0),
            Err(error) => (2, Some(error.to_string())),
        },
        Command::Variables {
            transport,
            library,
            names,
        } => match print_variables(selector, &transport, library, names) {
            // Some libraries crash in their exit handlers.
            Ok(()) => ffi::exit_now(0),
            Err(error) => (2, Some(error.to_string())),
        },
        Command::Install { directory } => match install::install(&directory) {
            Ok(_) => (0, None),
            Err(error) => (3, Some(error.to_string())),
        },
        Command::CopyLibrary { from, to } => match copy_library::copy_library(&from, &to) {
            Ok(()) => (0, None),
            Err(error) => (3, Some(error.to_string())),
        },
        Command::Probe { format } => match print_probe(format) {
            Ok(()) => (0, None),
            Err(error) => (3, Some(error.to_string())),
        },
    };
    if let Some(error) = error {
        // If standard error is closed, the error cannot be reported.
        let _ = writeln!(io::stderr(), "fabricbench-runner: {error}");
    }
    ExitCode::from(status)
}

/// Exit status of a role, and its error message.
fn direct_status(result: Result<(), DirectError>) -> (u8, Option<String>) {
    match result {
        Ok(()) => (0, None),
        Err(error) => (error.status(), Some(error.to_string())),
    }
}

fn print_attempt(selector: &dyn TransportSelector, target: &str) -> io::Result<()> {
    let target = from_json(target).map_err(|error| io::Error::other(error.to_string()))?;
    let result = serde_json::to_string(&probe::attempt(selector, &target))?;
    let mut out = io::stdout();
    writeln!(out, "{result}")?;
    out.flush()
}

fn print_variables(
    selector: &dyn TransportSelector,
    transport: &str,
    library: Option<PathBuf>,
    names: Vec<String>,
) -> io::Result<()> {
    let transport = from_json(transport).map_err(|error| {
        io::Error::other(format!(
            "--transport: {error}. Example: --transport '{{\"libfabric\": {{\"provider\": \"tcp\"}}}}'"
        ))
    })?;
    let facts = preview(selector, &transport, library, names);
    let mut out = io::stdout();
    writeln!(out, "\n{}", serde_json::to_string(&facts)?)?;
    out.flush()
}

fn print_probe(format: Format) -> io::Result<()> {
    let findings = probe::probe();
    let text = match format {
        Format::Text => probe::format_table(&findings),
        Format::Json => serde_json::to_string_pretty(&findings)?,
    };
    writeln!(io::stdout(), "{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_describe_bad_values_in_plain_words() {
        let checked = test_support::flags::check_messages_about_bad_values(&Cli::command());
        assert!(checked > 20, "{checked}");
    }
}
