//! Polls the completion queues. Does not allocate, lock or log unless a completion reports an error.

use super::Libfabric;
use super::error;
use super::ffi::QueueRead;
use crate::transport::{Completion, TransportError};

/// Reads each rail once, starting after the rail that the previous call read last, until `completions` is full.
#[inline]
pub(super) fn poll(
    transport: &mut Libfabric,
    completions: &mut [Completion],
) -> Result<usize, TransportError> {
    transport
        .turns
        .poll(&mut transport.rails, completions, |rail, found| {
            let (number, room) = (found.rail(), found.room());
            match rail.read_queue(room, |kind| found.push(kind)) {
                QueueRead::Failed(failure) => Err(error::completion_failed(number, &failure)),
                QueueRead::Done => Ok(()),
            }
        })
}
