//! Parameter serving: one trainer publishes versions of its parameters, and workers use the latest version that they
//! have.
//!
//! The initiator is the trainer. Every worker is a thread of the target, and its peer is a thread of the initiator, so
//! that the workers share no endpoint. Thread 0 of the initiator publishes the versions ([`publication`]); the time of
//! the publication is the time from which all lags count. How a version reaches the workers depends on the mode:
//!
//! - `Filesystem`: thread 0 writes a file, and each worker reads it at its pull period ([`store`]).
//! - `Multicast`: thread 0 sends datagrams to a group, which all workers receive ([`multicast`]).
//! - `Push`: every thread of the initiator writes into the memory of its worker, and then notifies it.
//! - `Pull`: each worker reads the number of the latest version at its pull period, and then the version if it is newer.
//!
//! A worker uses a version only after it has verified the version number at both ends and the checksum of all bytes
//! ([`parameters`]), so that a torn version is detected and never used. The version in use changes only at known times, so
//! that the version at every step, and with it the staleness, is computed from these times after the last step
//! ([`staleness`]), for which the trainer sends the publication times ([`table`]). A step can therefore not be missed
//! because a worker is busy.

mod clock_offset;
mod multicast;
mod parameters;
mod publication;
mod report;
mod staleness;
mod store;
mod table;
mod trainer;
mod worker;

use std::sync::Arc;

use crds::record::{CaseFailure, FailureReason};

pub use publication::Publication;
pub use report::{ServingThread, side_report};
pub use trainer::Trainer;
pub use worker::Worker;

use super::engine::{Engine, failure};
use crate::memory::Memory;
use crate::transport::Transport;

/// Memory of the case on this thread.
fn memory<T: Transport>(engine: &Engine<'_, T>) -> Result<Arc<Memory>, CaseFailure> {
    engine.thread.memory(engine.region).ok_or_else(|| {
        let message = "the memory of this case is missing; this is a bug in fabricbench".to_owned();
        failure(FailureReason::Internal, message)
    })
}

/// A failure to access memory.
fn memory_failure(error: crate::memory::MemoryError) -> CaseFailure {
    failure(error.reason(), error.to_string())
}
