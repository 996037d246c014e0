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

pub(crate) use error::ExecuteError;
pub(crate) use execute::StopReason;
pub(crate) use executor::{Executor, Input, StartedWorker};
pub(crate) use interrupt::Interrupt;
pub(crate) use lines::bounded_line;
pub(crate) use output::{RECORDS_FILE, RunDirectory};
pub(crate) use programs::program_notes;
pub(crate) use run::{LocalRun, RunResult};
pub(crate) use runner::find_runner;
pub(crate) use stderr_tail::StderrTail;
pub(crate) use this_machine::ThisMachine;
pub(crate) use variables::variable_notes;
