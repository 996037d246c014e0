//! Command exit statuses and failure messages.

use std::fmt;
use std::io;
use std::process::ExitCode;

use crds::file_error::with_remedy;
use crds::v1alpha1::Outcome;

use campaign::RunOutcome;

use crate::terminal::print_error;

/// Exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: the run is complete, no expectation was missed, and no regression was found.
    Complete,
    /// 1: the run is complete, and an expectation was missed or a regression was found.
    Missed,
    /// 2: the input file or the command line is invalid.
    InvalidInput,
    /// 3: the run is not complete, its results are not valid, or one of its controls shows a change.
    Untrusted,
}

impl From<RunOutcome> for Exit {
    fn from(outcome: RunOutcome) -> Self {
        match Outcome::from(outcome) {
            Outcome::Passed => Self::Complete,
            Outcome::Missed => Self::Missed,
            Outcome::Suspect | Outcome::Untrusted => Self::Untrusted,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Complete => 0,
            Exit::Missed => 1,
            Exit::InvalidInput => 2,
            Exit::Untrusted => 3,
        })
    }
}

/// Exit status and message of a failed command.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Exit status.
    pub exit: Exit,
    message: String,
}

impl Failure {
    /// Creates a failure for an invalid input file or command line.
    pub fn invalid_input(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::InvalidInput,
            message: message.to_string(),
        }
    }

    /// Creates a failure for a command that could not complete.
    pub fn incomplete(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::Untrusted,
            message: message.to_string(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // A reader that closes the pipe early is not an error, so nothing is reported.
        let message = match error.kind() {
            io::ErrorKind::BrokenPipe => String::new(),
            _ => format!("cannot write the output: {}", with_remedy(&error)),
        };
        Self::incomplete(message)
    }
}

/// Converts a command's result to an exit status, and writes any failure message to standard error.
pub fn exit_code(result: Result<Exit, Failure>) -> ExitCode {
    let exit = result.unwrap_or_else(|failure| {
        let message = failure.to_string();
        if !message.is_empty() {
            print_error(&message);
        }
        failure.exit
    });
    exit.into()
}
