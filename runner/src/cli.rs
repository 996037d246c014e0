//! The command line of `fabricbench-runner`.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::transport::choice::TransportChoice;
use crate::worker::{self, WorkerOptions};
use crate::{ffi, install, instrument, probe};

/// The instrument of fabricbench: runs on each node, moves bytes, and says exactly what it saw.
#[derive(Debug, Parser)]
#[command(name = "fabricbench-runner", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Take part in one leg of a campaign; rank 0 coordinates and writes the records to standard output.
    Worker {
        /// File with the assignment, the same for every rank.
        #[arg(long, value_name = "FILE")]
        assignment: PathBuf,
        /// Rank of this worker, from 0.
        #[arg(long, env = crds::names::ENV_RANK)]
        rank: u32,
        /// File that rank 0 repeats its end record in; /dev/termination-log where left out and there.
        #[arg(long, value_name = "FILE")]
        termination_message: Option<PathBuf>,
        /// Process that started this worker: the worker leaves when it dies.
        #[arg(long, value_name = "PID")]
        parent: Option<u32>,
    },
    /// Measure for a worker, which starts this itself.
    #[command(hide = true)]
    Instrument {
        /// Process number of the worker.
        #[arg(long)]
        parent: u32,
    },
    /// Try one thing for `probe`, which starts this itself.
    #[command(hide = true)]
    Attempt {
        /// What is tried, as JSON.
        target: String,
    },
    /// Copy this program into a folder, for pods whose image has none.
    Install {
        /// The folder.
        folder: PathBuf,
    },
    /// Show which transports, providers, devices and memory kinds this machine has, and why not.
    Probe {
        /// How it is shown.
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table.
    Text,
    /// One JSON document.
    Json,
}

/// Runs the program with the transports that `choice` knows.
///
/// Exit status: 0 complete, 2 the command line or the assignment is wrong, 3 not complete.
pub fn main_with(choice: &impl TransportChoice) -> ExitCode {
    let cli = Cli::parse();
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
        } => {
            let options = WorkerOptions {
                assignment,
                rank,
                termination_message,
                parent,
            };
            match worker::run(&options) {
                Ok(()) => (0, None),
                Err(error) => (error.status(), Some(format!("rank {rank}: {error}"))),
            }
        }
        Command::Instrument { parent } => match instrument::run(choice, parent) {
            Ok(()) => (0, None),
            Err(error) => (3, Some(error.to_string())),
        },
        Command::Attempt { target } => match attempt(choice, &target) {
            Ok(()) => ffi::exit_now(0),
            Err(error) => (2, Some(error.to_string())),
        },
        Command::Install { folder } => match install::install(&folder) {
            Ok(_) => (0, None),
            Err(error) => (3, Some(error.to_string())),
        },
        Command::Probe { format } => match show(format) {
            Ok(()) => (0, None),
            Err(error) => (3, Some(error.to_string())),
        },
    };
    if let Some(error) = error {
        // Nowhere is left to say that standard error is closed.
        let _ = writeln!(io::stderr(), "fabricbench-runner: {error}");
    }
    ExitCode::from(status)
}

fn attempt(choice: &impl TransportChoice, target: &str) -> io::Result<()> {
    let target = serde_json::from_str(target)?;
    let answer = serde_json::to_string(&probe::attempt(choice, &target))?;
    let mut out = io::stdout();
    writeln!(out, "{answer}")?;
    out.flush()
}

fn show(format: Format) -> io::Result<()> {
    let found = probe::probe();
    let text = match format {
        Format::Text => probe::table(&found),
        Format::Json => serde_json::to_string_pretty(&found)?,
    };
    writeln!(io::stdout(), "{text}")
}
