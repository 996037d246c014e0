//! Posts and completions, in the words of the trait. Nothing here allocates, locks or logs while all goes well.

use super::Libfabric;
use super::error;
use super::ffi::{Batch, Destination, Event};
use super::memory::LibfabricRegion;
use super::rules::provider::read_takes_more;
use crate::transport::{
    Completion, CompletionKind, Operation, Post, PostError, Rail, RemoteKey, TransportError,
};
use libfabric_sys::bindings::{FI_EINVAL, FI_EOPNOTSUPP};

#[inline]
pub(super) fn post(transport: &mut Libfabric, post: &Post<'_, LibfabricRegion>) -> Result<(), PostError> {
    let rail = transport
        .rails
        .get_mut(post.rail)
        .ok_or(PostError::Refused(FI_EINVAL))?;
    let span = post
        .region
        .span(post.rail, post.offset, post.length)
        .ok_or(PostError::Refused(FI_EINVAL))?;
    if post.inject && post.more {
        // The inject calls take no flags.
        return Err(PostError::Refused(FI_EINVAL));
    }
    let to = |remote: RemoteKey, offset: u64| Destination {
        peer: post.peer,
        address: remote.address.wrapping_add(offset),
        key: remote.key,
    };
    match post.operation {
        Operation::Send { immediate } if post.inject => rail.inject_send(span, post.peer, immediate),
        Operation::Send { immediate } => rail.send(span, post.peer, immediate, post.token, post.more),
        // Nothing would tell when it has arrived.
        Operation::Write { .. } if post.inject => Err(PostError::Refused(FI_EINVAL)),
        Operation::Write {
            remote,
            remote_offset,
        } => rail.write(span, to(remote, remote_offset), post.token, post.more),
        Operation::WriteImmediate {
            remote,
            remote_offset,
            immediate,
        } if post.inject => rail.inject_write_immediate(span, to(remote, remote_offset), immediate),
        Operation::WriteImmediate {
            remote,
            remote_offset,
            immediate,
        } => rail.write_immediate(span, to(remote, remote_offset), immediate, post.token, post.more),
        Operation::Read { .. } if post.inject => Err(PostError::Refused(FI_EINVAL)),
        Operation::Read { .. } if post.more && !read_takes_more(transport.provider) => {
            Err(PostError::Refused(FI_EOPNOTSUPP))
        }
        Operation::Read {
            remote,
            remote_offset,
        } => rail.read(span, to(remote, remote_offset), post.token, post.more),
    }
}

#[inline]
pub(super) fn post_receive(
    transport: &mut Libfabric,
    rail: Rail,
    region: &LibfabricRegion,
    offset: u64,
    length: u64,
    token: u32,
) -> Result<(), PostError> {
    let span = region
        .span(rail, offset, length)
        .ok_or(PostError::Refused(FI_EINVAL))?;
    transport
        .rails
        .get_mut(rail)
        .ok_or(PostError::Refused(FI_EINVAL))?
        .receive(span, token)
}

/// Reads each rail once, beginning where the last call ended, until `completions` is full.
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
        let number = transport.next;
        transport.next = if number + 1 == rails { 0 } else { number + 1 };
        let batch = transport.rails[number].read_queue(room, |event| {
            completions[filled] = Completion {
                rail: number,
                kind: kind(event),
            };
            filled += 1;
        });
        if let Batch::Failed(failure) = batch {
            let failure = error::completion(number, &failure);
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
fn kind(event: Event) -> CompletionKind {
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
