//! Executes a plan with one worker process for each rank. An executor starts the workers: [`ThisMachine`] here, or
//! [`Machines`](crate::machines::Machines) on others.
//!
//! This module starts the processes, stores every line of their output and stops them. All decisions are made in
//! `campaign`; this module does not interpret measured values. Performs I/O.

mod bindings;
mod changes;
mod error;
mod event;
mod execute;
mod executor;
mod gang;
mod interrupt;
mod lines;
mod output;
mod programs;
mod progress;
mod rail_sources;
mod run;
mod runner;
mod stderr_tail;
mod this_machine;
mod variables;

pub use error::ExecuteError;
pub use execute::StopReason;
pub(crate) use executor::{Executor, StartedWorker};
pub use interrupt::Interrupt;
pub(crate) use lines::bounded_line;
pub use output::{OutputError, RECORDS_FILE, RunDirectory};
pub use programs::program_notes;
pub use run::{LocalError, LocalRun, RunResult};
pub use runner::{RunnerError, find_runner};
pub(crate) use stderr_tail::StderrTail;
pub use this_machine::ThisMachine;
pub use variables::variable_notes;
