//! An attempt, as its coordinator drives it: who is there, what runs when, what is written.
//!
//! [`coordinator`] gives the commands and writes the records, [`gang`] talks to the workers and knows who is lost;
//! [`tournament`], [`merge`] and [`standing`] are pure.

pub mod coordinator;
mod endpoints;
pub mod gang;
mod merge;
mod setup_failures;
pub mod tournament;

use crds::record::CaseFailure;

use crate::output::OutputError;

/// Why an attempt does not go on.
#[derive(Debug)]
pub enum Halt {
    /// It cannot: told to stop, or no two workers are left.
    Attempt(CaseFailure),
    /// Nobody reads the records.
    Output(OutputError),
}

impl From<OutputError> for Halt {
    fn from(error: OutputError) -> Self {
        Self::Output(error)
    }
}
