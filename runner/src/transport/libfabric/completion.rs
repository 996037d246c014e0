//! Polls the completion queues. Does not allocate, lock or log unless a completion reports an error.

use super::Libfabric;
use super::error;
use super::ffi::{Event, QueueRead};
use crate::transport::{Completion, CompletionKind, TransportError};

/// Reads each rail once, starting after the last rail of the previous call, until `completions` is full.
#[inline]
pub(super) fn poll(
    transport: &mut Libfabric,
    completions: &mut [Completion],
) -> Result<usize, TransportError> {
    if let Some(failure) = transport.failure.take() {
        return Err(failure);
    }
    let rails = transport.rails.len();
    let mut filled = 0;
    for _ in 0..rails {
        let room = completions.len() - filled;
        if room == 0 {
            break;
        }
        let rail = transport.next_rail;
        transport.next_rail = if rail + 1 == rails { 0 } else { rail + 1 };
        let read = transport.rails[rail].read_queue(room, |event| {
            completions[filled] = Completion {
                rail,
                kind: completion_kind(event),
            };
            filled += 1;
        });
        if let QueueRead::Failed(failure) = read {
            let failure = error::completion_failed(rail, &failure);
            if filled == 0 {
                return Err(failure);
            }
            transport.failure = Some(failure);
            break;
        }
    }
    Ok(filled)
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
