//! What happens while workers run.

use std::io;
use std::process::ExitStatus;

/// Event from a gang or from this process.
#[derive(Debug)]
pub(super) enum Event {
    /// Worker 0 wrote a line. The newline is removed. Truncated lines and the parts of overlong lines are passed on,
    /// because the record reader reports what is wrong with them.
    Line(String),
    /// Worker 0 closed its standard output.
    StreamEnded,
    /// A worker exited.
    Exited {
        /// Rank of the worker.
        rank: u32,
        /// Exit status, or the error returned while waiting for the worker.
        status: io::Result<ExitStatus>,
    },
    /// Nothing was heard from a worker on another machine for [`MAX_SILENCE`](crds::lifeline::MAX_SILENCE).
    Silent {
        /// Rank of the worker.
        rank: u32,
    },
    /// This process received SIGINT (Ctrl-C) or SIGTERM.
    Interrupted,
}
