//! One worker of an attempt, from its assignment to its exit status. Meets the others, starts instruments, and writes
//! the records where it is the coordinator. Opens no fabric resource itself.

pub mod agent;
mod child;
mod coordinate;
pub mod coordinator_link;
pub mod event;
mod facts;
mod follow;
mod shared_memory;
mod signals;
mod start;
mod tail;
mod termination;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crds::assignment::{Assignment, AssignmentError, MAX_ASSIGNMENT_BYTES};
use crds::record::CaseFailure;
use snafu::{ResultExt, Snafu, ensure};

pub use start::run;

/// What a worker is started with.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// File with the assignment.
    pub assignment: PathBuf,
    /// Rank of this worker.
    pub rank: u32,
    /// File the coordinator's end record is repeated in.
    pub termination_message: Option<PathBuf>,
    /// Process whose death ends this worker.
    pub parent: Option<u32>,
}

/// Why a worker ends without having done its part.
#[derive(Debug, Snafu)]
pub enum WorkerError {
    /// The assignment is not there.
    #[snafu(display("{}: {source}", path.display()))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The assignment is wrong.
    #[snafu(display("{}: {source}", path.display()))]
    Assignment {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: AssignmentError,
    },
    /// The rank is none of this leg.
    #[snafu(display("rank {rank} does not exist: the assignment has {workers} workers, so ranks are 0 to {}", workers - 1))]
    Rank {
        /// The rank.
        rank: u32,
        /// Number of workers.
        workers: u32,
    },
    /// The machine does not let it start.
    #[snafu(display("{what}: {source}"))]
    Start {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A worker cannot be talked to.
    #[snafu(display("rank {peer}: {source}"))]
    Link {
        /// Its rank.
        peer: u32,
        /// What went wrong.
        source: crate::rendezvous::link::LinkError,
    },
    /// Nobody reads the records.
    #[snafu(display("{source}"))]
    Output {
        /// What went wrong.
        source: crate::output::OutputError,
    },
    /// The attempt is not complete.
    #[snafu(display("{:?}: {}", failure.reason, failure.message))]
    Incomplete {
        /// Why.
        failure: CaseFailure,
    },
}

impl WorkerError {
    /// Exit status: 2 where the assignment is wrong, 3 where the attempt is not complete.
    pub fn status(&self) -> u8 {
        match self {
            Self::Read { .. } | Self::Assignment { .. } | Self::Rank { .. } => 2,
            Self::Start { .. } | Self::Link { .. } | Self::Output { .. } | Self::Incomplete { .. } => 3,
        }
    }
}

/// Reads the assignment and checks that it has `rank`.
fn read_assignment(path: &Path, rank: u32) -> Result<Assignment, WorkerError> {
    let mut bytes = Vec::new();
    // One more byte than allowed, so that a file that is too long is seen and no more of it read.
    let limit = MAX_ASSIGNMENT_BYTES as u64 + 1;
    let read = File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    read.context(ReadSnafu { path })?;
    let assignment = Assignment::parse(&bytes).context(AssignmentSnafu { path })?;
    let workers = assignment.workers;
    ensure!(rank < workers, RankSnafu { rank, workers });
    Ok(assignment)
}
