//! Executes a plan on this machine with one worker process for each rank. The workers communicate over loopback.
//!
//! This module starts the processes, stores every line of their output and stops them. All decisions are made in
//! `campaign`; this module does not interpret measured values. Performs I/O.

mod bindings;
mod changes;
mod execute;
mod gang;
mod interrupt;
mod output;
mod programs;
mod progress;
mod rail_sources;
mod run;
mod runner;
mod variables;

pub use execute::{ExecuteError, StopReason};
pub use interrupt::Interrupt;
pub use output::{OutputError, RECORDS_FILE, RunDirectory};
pub use programs::program_notes;
pub use run::{LocalError, LocalRun, RunResult};
pub use runner::{RunnerError, find_runner};
pub use variables::variable_notes;
