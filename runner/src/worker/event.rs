//! Events of one worker, which all arrive on one channel. Pure.

use crate::frame::FrameError;
use crate::instrument::protocol::Reply;
use crate::rendezvous::message::Command;

/// Event that a worker reacts to.
#[derive(Debug)]
pub enum WorkerEvent {
    /// Command of the coordinator.
    Command(Command),
    /// The connection to the coordinator was lost, for this reason.
    CoordinatorLost(String),
    /// Reply of an instrument.
    Reply {
        /// Serial number of the instrument.
        serial: u64,
        /// The reply.
        reply: Reply,
    },
    /// The connection to an instrument was lost.
    InstrumentLost {
        /// Serial number of the instrument.
        serial: u64,
        /// Error of the connection.
        error: FrameError,
    },
    /// This worker received the named signal.
    Stop(&'static str),
}
