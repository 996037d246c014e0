//! Polls the completion queues. Does not allocate, lock or log unless a completion reports an error.

use crate::Verbs;
use crate::error::{completion_failed, refused};
use crate::ffi;
use runner::transport::{Completion, TransportError};
use std::time::Duration;

/// Reads each rail once, starting after the rail that the previous call read last, until `completions` is full.
#[inline]
pub(super) fn poll(transport: &mut Verbs, completions: &mut [Completion]) -> Result<usize, TransportError> {
    transport
        .turns
        .poll(&mut transport.rails, completions, |rail, found| {
            let (number, room) = (found.rail(), found.room());
            let polled = rail.poll(room, |kind| found.push(kind));
            polled.map_err(|failure| completion_failed(number, &failure))
        })
}

pub(super) fn wait(transport: &mut Verbs, timeout: Duration) -> Result<(), TransportError> {
    if transport.turns.has_failed() {
        return Ok(());
    }
    ffi::wait_for_completions(&mut transport.rails, timeout).map_err(|message| refused("wait", message))
}
