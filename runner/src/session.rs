//! The coordinator's side of an attempt: the case schedule, the worker states and the records.
//!
//! [`coordinator`] sends commands and writes records. [`gang`] exchanges messages with the workers and tracks lost
//! workers. [`tournament`], `merge`, `operation_counts` and `setup_failures` perform no I/O.

mod configurations;
pub mod coordinator;
mod endpoints;
pub mod gang;
mod merge;
mod operation_counts;
mod setup_failures;
pub mod tournament;

use crds::record::CaseFailure;

use crate::output::OutputError;

/// Reason for stopping an attempt early.
#[derive(Debug)]
pub enum Halt {
    /// The attempt cannot continue, for example because of a signal or because fewer than two workers are left.
    Attempt(CaseFailure),
    /// The records cannot be written.
    Output(OutputError),
}

impl From<OutputError> for Halt {
    fn from(error: OutputError) -> Self {
        Self::Output(error)
    }
}
