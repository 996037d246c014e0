//! Polls the agents. Does not lock or log unless an operation failed.

use super::Nixl;
use super::error;
use crate::transport::{Completion, TransportError};

/// Polls each rail once, starting after the rail that the previous call polled last, until `completions` is full.
#[inline]
pub(super) fn poll(transport: &mut Nixl, completions: &mut [Completion]) -> Result<usize, TransportError> {
    transport
        .turns
        .poll(&mut transport.rails, completions, |rail, found| {
            let (number, room) = (found.rail(), found.room());
            let polled = rail.poll(room, |kind| found.push(kind));
            polled.map_err(|failure| error::completion_failed(number, &failure))
        })
}
