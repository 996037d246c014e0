//! One instrument process: opens the transports of its arms, measures, and ends with its worker. Talks to the worker
//! over the socket that is its standard input; libraries may print what they like.

pub mod arm;
mod cpus;
mod failure;
mod open;
pub mod protocol;
mod serve;
mod variables;
mod variant;

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;

use rustix::fs::FileType;
use rustix::process::Signal;
use snafu::{ResultExt, Snafu};

use crate::ffi;
use crate::frame::{FrameError, FrameReader};
use crate::process::end_with_parent;
use crate::transport::choice::TransportChoice;
use serve::Server;

/// Why an instrument cannot work.
#[derive(Debug, Snafu)]
pub enum InstrumentError {
    /// It was not started by a worker.
    #[snafu(display(
        "an instrument is started by `fabricbench-runner worker`, with a socket as its standard input"
    ))]
    NoWorker,
    /// The machine does not let it start.
    #[snafu(display("{what}: {source}"))]
    Start {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The worker cannot be understood.
    #[snafu(display("the worker: {source}"))]
    Worker {
        /// What went wrong.
        source: FrameError,
    },
}

/// Runs the instrument of the worker with process number `parent`. Returns only when it could not; having done its
/// work, the process ends without the exit handlers of the libraries it has loaded.
///
/// # Errors
/// When it was not started by a worker, or the worker cannot be understood.
pub fn run(choice: &impl TransportChoice, parent: u32) -> Result<(), InstrumentError> {
    let socket = worker_socket().context(StartSnafu {
        what: "taking the worker's socket",
    })?;
    let socket = socket.ok_or(InstrumentError::NoWorker)?;
    // No stronger signal: at this one libfabric's shm provider frees its memory, for which there is no worker then.
    // Between cases the closed socket ends the instrument too.
    end_with_parent(parent, Signal::TERM).context(StartSnafu {
        what: "tying this process to its worker",
    })?;
    let writer = socket.try_clone().context(StartSnafu {
        what: "taking the worker's socket",
    })?;
    match Server::new(choice, FrameReader::new(socket), writer).serve() {
        // The worker is gone: nobody needs to know.
        Ok(()) | Err(FrameError::Closed) => ffi::exit_now(0),
        Err(source) => Err(InstrumentError::Worker { source }),
    }
}

/// The socket that is the standard input, which then becomes empty: no library may read the worker's words.
fn worker_socket() -> io::Result<Option<UnixStream>> {
    let stdin = io::stdin();
    let stat = rustix::fs::fstat(&stdin)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return Ok(None);
    }
    let socket = rustix::io::fcntl_dupfd_cloexec(&stdin, 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(Some(UnixStream::from(socket)))
}
