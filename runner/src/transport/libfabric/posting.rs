//! Posts operations and receives. Does not allocate, lock or log.

use super::Libfabric;
use super::ffi::RemoteTarget;
use super::memory::LibfabricRegion;
use super::rules::provider::read_supports_more;
use crate::transport::{Operation, Post, PostError, Rail, RemoteKey};
use libfabric_sys::bindings::{FI_EINVAL, FI_EOPNOTSUPP};

#[inline]
pub(super) fn post(transport: &mut Libfabric, post: &Post<'_, LibfabricRegion>) -> Result<(), PostError> {
    let rail = transport
        .rails
        .get_mut(post.rail)
        .ok_or(PostError::Refused(FI_EINVAL))?;
    let range = post
        .region
        .range(post.rail, post.offset, post.length)
        .ok_or(PostError::Refused(FI_EINVAL))?;
    if post.inject && post.more {
        // The inject calls have no flags argument.
        return Err(PostError::Refused(FI_EINVAL));
    }
    let target = |remote: RemoteKey, offset: u64| RemoteTarget {
        peer: post.peer,
        address: remote.address.wrapping_add(offset),
        key: remote.key,
    };
    match post.operation {
        Operation::Send { immediate } if post.inject => rail.inject_send(range, post.peer, immediate),
        Operation::Send { immediate } => rail.send(range, post.peer, immediate, post.token, post.more),
        // Neither side would learn that an injected write without immediate data has arrived.
        Operation::Write { .. } if post.inject => Err(PostError::Refused(FI_EINVAL)),
        Operation::Write {
            remote,
            remote_offset,
        } => rail.write(range, target(remote, remote_offset), post.token, post.more),
        Operation::WriteImmediate {
            remote,
            remote_offset,
            immediate,
        } if post.inject => rail.inject_write_immediate(range, target(remote, remote_offset), immediate),
        Operation::WriteImmediate {
            remote,
            remote_offset,
            immediate,
        } => rail.write_immediate(
            range,
            target(remote, remote_offset),
            immediate,
            post.token,
            post.more,
        ),
        Operation::Read { .. } if post.inject => Err(PostError::Refused(FI_EINVAL)),
        Operation::Read { .. } if post.more && !read_supports_more(transport.provider) => {
            Err(PostError::Refused(FI_EOPNOTSUPP))
        }
        Operation::Read {
            remote,
            remote_offset,
        } => rail.read(range, target(remote, remote_offset), post.token, post.more),
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
    let range = region
        .range(rail, offset, length)
        .ok_or(PostError::Refused(FI_EINVAL))?;
    transport
        .rails
        .get_mut(rail)
        .ok_or(PostError::Refused(FI_EINVAL))?
        .receive(range, token)
}
