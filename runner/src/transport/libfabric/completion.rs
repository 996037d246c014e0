//! Polls the completion queues. Does not allocate, lock or log unless a completion reports an error.

use super::Libfabric;
use super::error;
use super::ffi::{Event, QueueRead};
use crate::transport::{Completion, CompletionKind, TransportError};

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
            match rail.read_queue(room, |event| found.push(completion_kind(event))) {
                QueueRead::Failed(failure) => Err(error::completion_failed(number, &failure)),
                QueueRead::Done => Ok(()),
            }
        })
}

#[inline]
fn completion_kind(event: Event) -> CompletionKind {
    match event {
        Event::Posted { token } => CompletionKind::Posted { token },
        Event::Received {
            token,
            immediate,
            length,
        } => CompletionKind::Received {
            token,
            immediate,
            length,
        },
        Event::RemoteWrite { immediate } => CompletionKind::RemoteWrite { immediate },
    }
}
