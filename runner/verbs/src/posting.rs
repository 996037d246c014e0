//! Posts operations and receives. Does not allocate, lock or log.

use crate::Verbs;
use crate::ffi::{Queue, QueuePost};
use crate::memory::VerbsRegion;
use runner::transport::{Operation, Post, PostError, Rail};

#[inline]
pub(super) fn post(transport: &mut Verbs, post: &Post<'_, VerbsRegion>) -> Result<(), PostError> {
    let rail = transport
        .rails
        .get_mut(post.rail)
        .ok_or(PostError::Refused(libc::EINVAL))?;
    let range = post
        .region
        .range(post.rail, post.offset, post.length)
        .ok_or(PostError::Refused(libc::EINVAL))?;
    let queue = match post.operation {
        Operation::Send { .. } => Queue::Messages,
        Operation::Write { .. } | Operation::WriteImmediate { .. } | Operation::Read { .. } => Queue::Memory,
    };
    let has_immediate = matches!(
        post.operation,
        Operation::Send { .. } | Operation::WriteImmediate { .. }
    );
    // The driver copies inline data only when the doorbell rings, but the memory of an injected post must be reusable
    // immediately. Without immediate data, neither side would learn that an injected post has arrived.
    if post.inject && (post.more || !has_immediate) {
        return Err(PostError::Refused(libc::EINVAL));
    }
    let queue_post = QueuePost {
        range,
        operation: post.operation,
        token: (!post.inject).then_some(post.token),
        more: post.more,
    };
    rail.post(post.peer, queue, queue_post)
}

#[inline]
pub(super) fn post_receive(
    transport: &mut Verbs,
    rail: Rail,
    region: &VerbsRegion,
    offset: u64,
    length: u64,
    token: u32,
) -> Result<(), PostError> {
    let range = region
        .range(rail, offset, length)
        .ok_or(PostError::Refused(libc::EINVAL))?;
    transport
        .rails
        .get(rail)
        .ok_or(PostError::Refused(libc::EINVAL))?
        .post_receive(range, token)
}
