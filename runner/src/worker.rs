//! One worker of an attempt, from its assignment to its exit status. A worker joins the rendezvous and starts
//! instruments; the coordinator also writes the records. Workers do not open fabric resources themselves.

pub mod agent;
pub(crate) mod child;
mod coordinate;
pub mod coordinator_link;
mod environment;
pub(crate) mod facts;
mod follow;
mod kept_log;
mod lifeline;
mod shared_memory;
mod shared_memory_space;
pub(crate) mod signals;
mod start;
mod tail;
mod termination;
mod working_directory;

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use crds::assignment::{Assignment, AssignmentError, MAX_ASSIGNMENT_BYTES};
use crds::record::CaseFailure;
use snafu::{ResultExt, Snafu, ensure};

use crate::rendezvous::server::{Server, ServerError};

pub(crate) use start::follow_coordinator;
pub use start::run;

/// Options of a worker.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Path of the assignment file, or `-` for a line on standard input, which then stays open: see [`crds::lifeline`].
    pub assignment: PathBuf,
    /// Worker rank.
    pub rank: u32,
    /// File to which the coordinator also writes its end record.
    pub termination_message: Option<PathBuf>,
    /// Parent process ID. The worker stops when the parent exits.
    pub parent: Option<u32>,
    /// Server that becomes rank 1 of two workers. If unset, rank 0 listens.
    pub server: Option<Server>,
}

/// Error that stops a worker.
#[derive(Debug, Snafu)]
pub enum WorkerError {
    /// The assignment cannot be read.
    #[snafu(display("cannot read the assignment {}: {source}", path.display()))]
    Read {
        /// Assignment path.
        path: PathBuf,
        /// Error from the system call.
        source: io::Error,
    },
    /// The assignment is invalid.
    #[snafu(display("invalid assignment {}: {source}", path.display()))]
    Assignment {
        /// Assignment path.
        path: PathBuf,
        /// Validation error.
        source: AssignmentError,
    },
    /// The rank does not exist in this leg.
    #[snafu(display("rank {rank} does not exist: the assignment has {workers} workers, so ranks are 0 to {}", workers - 1))]
    Rank {
        /// Worker rank.
        rank: u32,
        /// Number of workers.
        workers: u32,
    },
    /// A system call failed while the worker was starting.
    #[snafu(display("{action} failed: {source}"))]
    Start {
        /// Action that failed.
        action: &'static str,
        /// Error from the system call.
        source: io::Error,
    },
    /// The connection to a peer cannot be set up.
    #[snafu(display("connection to rank {peer} failed: {source}"))]
    Link {
        /// Peer rank.
        peer: u32,
        /// Connection error.
        source: crate::rendezvous::link::LinkError,
    },
    /// The records cannot be written.
    #[snafu(display("{source}"))]
    Output {
        /// Error from the record stream.
        source: crate::output::OutputError,
    },
    /// The server does not become rank 1.
    #[snafu(display("{source}"))]
    Server {
        /// Why it does not.
        source: ServerError,
    },
    /// The attempt is not complete.
    #[snafu(display("{:?}: {}", failure.reason, failure.message))]
    Incomplete {
        /// Failure of the attempt.
        failure: CaseFailure,
    },
}

impl WorkerError {
    /// Exit status: 2 if the assignment or the rank is invalid, or a server does not accept the assignment, and 3 for all other errors.
    pub fn status(&self) -> u8 {
        match self {
            Self::Read { .. } | Self::Assignment { .. } | Self::Rank { .. } => 2,
            Self::Server { source } => source.status(),
            Self::Start { .. } | Self::Link { .. } | Self::Output { .. } | Self::Incomplete { .. } => 3,
        }
    }
}

/// Reads and validates the assignment, and checks that it contains `rank`.
fn read_assignment(path: &Path, rank: u32) -> Result<Assignment, WorkerError> {
    let mut bytes = Vec::new();
    // Reads one byte more than allowed, so that a file above the limit is detected without reading the whole file.
    let limit = MAX_ASSIGNMENT_BYTES as u64 + 1;
    let read = match is_standard_input(path) {
        true => io::stdin().lock().take(limit).read_until(b'\n', &mut bytes),
        false => File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)),
    };
    read.context(ReadSnafu { path })?;
    let assignment = Assignment::parse(&bytes).context(AssignmentSnafu { path })?;
    let workers = assignment.workers;
    ensure!(rank < workers, RankSnafu { rank, workers });
    Ok(assignment)
}

/// Whether the assignment is read from standard input.
fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}
