//! One instrument process: opens the transports of its arms and runs cases until its worker exits. Communicates with
//! the worker over a socket on standard input, so that libraries may print to standard output and standard error.

pub mod arm;
mod configuration;
mod cpus;
mod failure;
mod flow_coordinator;
mod open;
mod open_arm;
pub mod protocol;
pub mod samples_file;
pub mod select;
mod serve;
mod variables;
mod variant;

use std::io;

use rustix::process::Signal;
use snafu::{ResultExt, Snafu};

use crate::ffi;
use crate::frame::{FrameError, FrameReader};
use crate::process::{end_with_parent, socket_on_stdin};
use select::TransportSelector;
use serve::Server;

/// Error that stops an instrument.
#[derive(Debug, Snafu)]
pub enum InstrumentError {
    /// Standard input is not a worker's socket.
    #[snafu(display(
        "standard input is not a socket; an instrument must be started by `fabricbench-runner worker`"
    ))]
    NoWorker,
    /// A system call failed while the instrument was starting.
    #[snafu(display("{action} failed: {source}"))]
    Start {
        /// Action that failed.
        action: &'static str,
        /// Error returned by the system call.
        source: io::Error,
    },
    /// A message from the worker cannot be read, or the reply cannot be sent.
    #[snafu(display("connection to the worker failed: {source}"))]
    Worker {
        /// Connection error.
        source: FrameError,
    },
}

/// Runs the instrument of the worker with process ID `parent`. Returns only on failure: after the last request, the
/// process exits without running the exit handlers of loaded libraries.
///
/// # Errors
/// Returns an error if standard input is not a socket, or communication with the worker fails.
pub fn run(selector: &dyn TransportSelector, parent: u32) -> Result<(), InstrumentError> {
    let socket = socket_on_stdin().context(StartSnafu {
        action: "duplicating the worker's socket",
    })?;
    let socket = socket.ok_or(InstrumentError::NoWorker)?;
    // The signal is SIGTERM rather than SIGKILL, because libfabric's shm provider frees its shared memory on SIGTERM.
    // Between cases, the instrument also exits if the worker's end of the socket is closed.
    end_with_parent(parent, Signal::TERM).context(StartSnafu {
        action: "setting the parent-death signal",
    })?;
    let writer = socket.try_clone().context(StartSnafu {
        action: "duplicating the worker's socket",
    })?;
    match Server::new(selector, FrameReader::new(socket), writer).serve() {
        // A closed connection means that the worker has exited, which is not an error.
        Ok(()) | Err(FrameError::Closed) => ffi::exit_now(0),
        Err(source) => Err(InstrumentError::Worker { source }),
    }
}
