//! An extension is a process that its host (this process) starts on the same machine, and that the host calls over a
//! UNIX socket or a TCP connection.
//!
//! Calls alternate between the two processes: each call is nested in the previous one, and both sides execute the same
//! code ([`calls`]). A message is a JSON header, followed by the payload or accompanied by a descriptor of shared
//! memory that contains it ([`link`]). An extension that exceeds its time limit is killed, and the host determines
//! whether it timed out, was killed for lack of memory, or exited ([`process`]).

mod arguments;
mod calls;
mod gpu_payload;
mod link;
mod message;
pub mod pages;
pub mod process;
mod serve;
#[cfg(test)]
mod tests;

use std::os::unix::net::UnixStream;

use crds::record::{CaseFailure, FailureReason};
use snafu::Snafu;

pub use arguments::Arguments;
pub use calls::Payload;
pub use message::{CallPlan, PayloadPassing};
pub use process::{Extension, TimeLimit};
pub use serve::{ExtensionOptions, run};

/// Error returned by an extension that cannot serve its host.
#[derive(Debug, Snafu)]
pub enum ExtensionError {
    /// Standard input is not a host's socket.
    #[snafu(display("standard input is not a socket; an extension must be started by an instrument"))]
    NoHost,
    /// A system call failed while the extension was starting.
    #[snafu(display("{action} failed: {source}"))]
    Start {
        /// Action that failed.
        action: &'static str,
        /// System call error.
        source: std::io::Error,
    },
    /// The connection to the host failed.
    #[snafu(display("the connection to the host failed: {}", failure.message))]
    Host {
        /// Cause of the failure.
        failure: CaseFailure,
    },
}

/// Sockets over which host and extension exchange calls.
#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(std::net::TcpStream),
}

fn failure(reason: FailureReason, message: String) -> CaseFailure {
    CaseFailure { reason, message }
}
