//! Polls the workers. Does not allocate, lock or log unless an operation failed.

use super::Ucx;
use super::error;
use super::ffi::Event;
use crate::transport::{Completion, CompletionKind, TransportError};

/// Polls each rail once, starting after the last rail of the previous call, until `completions` is full.
#[inline]
pub(super) fn poll(transport: &mut Ucx, completions: &mut [Completion]) -> Result<usize, TransportError> {
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
        let polled = transport.rails[rail].poll(room, |event| {
            completions[filled] = Completion {
                rail,
                kind: completion_kind(event),
            };
            filled += 1;
        });
        if let Err(failure) = polled {
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
            immediate: Some(immediate),
            length,
        },
        Event::RemoteWrite { immediate } => CompletionKind::RemoteWrite { immediate },
    }
}
