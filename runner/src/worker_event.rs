//! Events of one worker. They all arrive on one channel. Performs no I/O.

use crate::frame::FrameError;
use crate::instrument::protocol::Reply;
use crate::rendezvous::message::Command;

/// Event handled by a worker.
#[derive(Debug)]
pub enum WorkerEvent {
    /// Command from the coordinator.
    Command(Command),
    /// The connection to the coordinator was lost for the given reason.
    CoordinatorLost(String),
    /// Reply from an instrument.
    Reply {
        /// Instrument serial number.
        serial: u64,
        /// The reply.
        reply: Reply,
    },
    /// The connection to an instrument was lost.
    InstrumentLost {
        /// Instrument serial number.
        serial: u64,
        /// Connection error.
        error: FrameError,
    },
    /// This worker must stop. Contains the name of the signal that it received, or of the flag that limits its session.
    Stop(&'static str),
}
