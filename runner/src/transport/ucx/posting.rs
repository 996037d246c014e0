//! Posts operations and receives. Does not allocate, lock or log.

use super::Ucx;
use super::ffi::{self, RemoteTarget};
use super::memory::UcxRegion;
use crds::v1alpha1::{UcxMessages, UcxWriteCompletion};

use crate::transport::{Operation, Peer, Post, PostError, Rail, RemoteKey};

#[inline]
pub(super) fn post(transport: &mut Ucx, post: &Post<'_, UcxRegion>) -> Result<(), PostError> {
    if post.inject || post.more {
        // UCX copies short messages itself, and has no equivalent of FI_MORE.
        return Err(PostError::Refused(libc::EOPNOTSUPP));
    }
    let rail = transport
        .rails
        .get_mut(post.rail)
        .ok_or(PostError::Refused(libc::EINVAL))?;
    let range = post
        .region
        .range(post.rail, post.offset, post.length)
        .ok_or(PostError::Refused(libc::EINVAL))?;
    let target = |remote: RemoteKey, offset: u64| RemoteTarget {
        peer: post.peer,
        key: remote.key,
        offset,
    };
    match post.operation {
        Operation::Send { immediate } => match transport.spec.messages {
            UcxMessages::Tag => rail.send(range, post.peer, immediate, post.token),
            UcxMessages::ActiveMessage => rail.send_active_message(range, post.peer, immediate, post.token),
        },
        Operation::Write {
            remote,
            remote_offset,
        } => {
            let target = target(remote, remote_offset);
            match transport.spec.write_completion {
                UcxWriteCompletion::Delivery => rail.write(range, target, None, post.token),
                UcxWriteCompletion::Local => rail.put(range, target, post.token),
            }
        }
        Operation::WriteImmediate {
            remote,
            remote_offset,
            immediate,
        } => rail.write(range, target(remote, remote_offset), Some(immediate), post.token),
        Operation::Read {
            remote,
            remote_offset,
        } => rail.read(range, target(remote, remote_offset), post.token),
    }
}

#[inline]
pub(super) fn post_receive(
    transport: &mut Ucx,
    rail: Rail,
    region: &UcxRegion,
    offset: u64,
    length: u64,
    token: u32,
) -> Result<(), PostError> {
    let range = region
        .range(rail, offset, length)
        .ok_or(PostError::Refused(libc::EINVAL))?;
    let rail = transport
        .rails
        .get_mut(rail)
        .ok_or(PostError::Refused(libc::EINVAL))?;
    match transport.spec.messages {
        UcxMessages::Tag => rail.receive(range, token),
        UcxMessages::ActiveMessage => rail.receive_active_message(range, token),
    }
}

/// Posts a flush on every rail, or on none.
pub(super) fn post_flush(transport: &mut Ucx, peer: Peer) -> Result<(), PostError> {
    if !transport.rails.iter().all(ffi::Rail::has_free_flush) {
        return Err(PostError::Again);
    }
    transport
        .rails
        .iter_mut()
        .try_for_each(|rail| rail.post_flush(peer))
}
