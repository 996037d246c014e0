//! Polls the agents. Does not lock or log unless an operation failed.

use super::Nixl;
use super::error;
use super::ffi::Event;
use crate::transport::{Completion, CompletionKind, TransportError};

/// Polls each rail once, starting after the rail that the previous call polled last, until `completions` is full.
#[inline]
pub(super) fn poll(transport: &mut Nixl, completions: &mut [Completion]) -> Result<usize, TransportError> {
    transport
        .turns
        .poll(&mut transport.rails, completions, |rail, found| {
            let (number, room) = (found.rail(), found.room());
            let polled = rail.poll(room, |event| found.push(completion_kind(event)));
            polled.map_err(|failure| error::completion_failed(number, &failure))
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
            immediate: Some(immediate),
            length,
        },
        Event::RemoteWrite { immediate } => CompletionKind::RemoteWrite { immediate },
    }
}
