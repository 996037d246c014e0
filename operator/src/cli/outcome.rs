//! How a command ends: exit status and, where it failed, the message.

use std::fmt;
use std::io;
use std::process::ExitCode;

use crds::v1alpha1::Outcome;

use crate::campaign::RunOutcome;
use crate::manifest::ManifestError;

/// Exit status of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: complete, and no expectation was missed.
    Complete,
    /// 1: complete, and an expectation was missed or a regression was found.
    Missed,
    /// 2: the file or the command line is wrong.
    WrongFile,
    /// 3: it did not complete, or its numbers cannot be trusted.
    Untrusted,
}

impl From<RunOutcome> for Exit {
    fn from(outcome: RunOutcome) -> Self {
        match Outcome::from(outcome) {
            Outcome::Passed => Self::Complete,
            Outcome::Missed => Self::Missed,
            Outcome::Untrusted => Self::Untrusted,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Complete => 0,
            Exit::Missed => 1,
            Exit::WrongFile => 2,
            Exit::Untrusted => 3,
        })
    }
}

/// Why a command ended early.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its exit status.
    pub exit: Exit,
    message: String,
}

impl Failure {
    /// The user's file or command line is wrong; the message names the field.
    pub fn wrong_file(message: impl fmt::Display) -> Self {
        Self {
            exit: Exit::WrongFile,
            message: message.to_string(),
        }
    }

    /// The command could not complete.
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

impl From<ManifestError> for Failure {
    fn from(error: ManifestError) -> Self {
        Self::wrong_file(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // Whoever reads has seen enough.
        let message = match error.kind() {
            io::ErrorKind::BrokenPipe => String::new(),
            _ => format!("cannot write the output: {error}"),
        };
        Self::incomplete(message)
    }
}
