//! Measurements between two machines without a cluster, using the Starway benchmark suite's roles, scenarios and flags:
//! `serve` on one machine and `connect` on the other, or `loopback` for both sides on one machine. [`segment`]
//! implements the Transfer Engine Benchmark's roles.
//!
//! The clients translate their flags to a run with one arm and one round, and [start](campaign) `fabricbench`, which
//! plans, measures and evaluates it. Its worker with rank 0 [proposes](crate::rendezvous::server) the assignment to the server
//! over a TCP connection. A server checks the proposal against its [`limits`], adds its own choices, and becomes the worker
//! with rank 1.
//!
//! [`serve`], [`session`], [`busy`], [`current_session`], [`campaign`], [`connect`], [`loopback`] and [`segment`] perform I/O,
//! and [`flags`] writes to standard error. The other modules do not.

pub mod bounds;
mod busy;
mod campaign;
pub mod connect;
mod current_session;
pub mod flags;
pub mod limits;
pub mod loopback;
pub mod segment;
pub mod serve;
mod session;
mod transport;
mod worker_address;

use std::io::{self, Write};

use crds::record::CaseFailure;
use snafu::Snafu;

use crate::frame::FrameError;
use crate::worker::WorkerError;
use bounds::FlagError;
use segment::metadata::MetadataError;

/// Error returned by a role.
#[derive(Debug, Snafu)]
pub enum DirectError {
    /// The flags are invalid.
    #[snafu(display("{source}"), context(false))]
    Flags {
        /// Validation error.
        source: FlagError,
    },
    /// The address cannot be used.
    #[snafu(display("cannot listen on {address}: {source}; choose another --addr or --port"))]
    Listen {
        /// Address and port.
        address: String,
        /// System call error.
        source: io::Error,
    },
    /// `fabricbench` cannot be started.
    #[snafu(display(
        "cannot start fabricbench, which measures and evaluates the run: {source}; install it in the directory of \
         fabricbench-runner, or in a directory of PATH"
    ))]
    Fabricbench {
        /// System call error.
        source: io::Error,
    },
    /// The connection to a client failed before its session began.
    #[snafu(display("the connection to the client {address} failed: {source}"))]
    Client {
        /// Address of the client.
        address: String,
        /// Connection failure.
        source: FrameError,
    },
    /// The measurement failed.
    #[snafu(display("{source}"), context(false))]
    Worker {
        /// Failure of the worker in this process.
        source: WorkerError,
    },
    /// The measurement ended early.
    #[snafu(display("the measurement is incomplete ({:?}): {}", failure.reason, failure.message))]
    Incomplete {
        /// Why the attempt failed.
        failure: CaseFailure,
    },
    /// The segment cannot be registered, or has been lost.
    #[snafu(display("the segment is not available ({:?}): {}", failure.reason, failure.message))]
    Segment {
        /// Reason and fix.
        failure: CaseFailure,
    },
    /// The metadata service has no valid entry, or cannot be used.
    #[snafu(display("{source}"), context(false))]
    Metadata {
        /// Reason and fix.
        source: MetadataError,
    },
    /// A system operation failed.
    #[snafu(display("{action} failed: {source}"))]
    System {
        /// Attempted action.
        action: &'static str,
        /// System call error.
        source: io::Error,
    },
}

impl DirectError {
    /// Exit status: 2 if the flags are invalid, and 3 for all other errors.
    pub fn status(&self) -> u8 {
        match self {
            Self::Flags { .. } => 2,
            _ => 3,
        }
    }
}

/// Default TCP port of a server, the same as in the Starway benchmark suite.
pub const DEFAULT_PORT: u16 = 17777;

/// Writes a line to standard output.
fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{line}")?;
    out.flush()
}
