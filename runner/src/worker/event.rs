//! Events of one worker, which all arrive on one channel.

use crate::frame::FrameError;
use crate::instrument::protocol::Reply;
use crate::rendezvous::message::Command;

/// Event that a worker reacts to.
#[derive(Debug)]
pub enum WorkerEvent {
    /// The coordinator wants something.
    Command(Command),
    /// The coordinator is gone.
    CoordinatorGone(String),
    /// An instrument answered.
    Reply {
        /// Which.
        serial: u64,
        /// What.
        reply: Reply,
    },
    /// An instrument is gone.
    InstrumentGone {
        /// Which.
        serial: u64,
        /// How that was seen.
        error: FrameError,
    },
    /// This worker was told to stop, by a signal of this name.
    Stop(&'static str),
}
