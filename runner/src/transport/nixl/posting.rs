//! Posts operations and receives, and prepares requests for later posts.

use super::Nixl;
use super::error::{provider_mismatch, refused};
use super::ffi::{self, RemoteTarget};
use super::memory::NixlRegion;
use crate::transport::{Operation, Post, PostError, PreparationStats, Rail, RemoteKey, TransportError};
use nixl_sys::{READ, WRITE};

#[inline]
pub(super) fn post(transport: &mut Nixl, post: &Post<'_, NixlRegion>) -> Result<(), PostError> {
    if post.inject || post.more {
        // The backends copy short messages themselves, and NIXL has no equivalent of FI_MORE.
        return Err(PostError::Refused(libc::EOPNOTSUPP));
    }
    let invalid = PostError::Refused(libc::EINVAL);
    let rail = transport.rails.get_mut(post.rail).ok_or(invalid)?;
    let range = post
        .region
        .range(post.rail, post.offset, post.length)
        .ok_or(invalid)?;
    let (operation, target, immediate) = match transfer(post) {
        Some(transfer) => transfer,
        None => {
            let Operation::Send { immediate } = post.operation else {
                return Err(invalid);
            };
            return rail.send(range, post.peer, immediate, post.token);
        }
    };
    rail.transfer(operation, range, target, immediate, post.token)
}

/// Operation, remote location and immediate data if the post is a transfer; `None` for a send.
#[inline]
fn transfer(post: &Post<'_, NixlRegion>) -> Option<(nixl_sys::Operation, RemoteTarget, Option<u64>)> {
    let target = |remote: RemoteKey, offset: u64| RemoteTarget {
        peer: post.peer,
        key: remote.key,
        offset,
    };
    match post.operation {
        Operation::Send { .. } => None,
        Operation::Write {
            remote,
            remote_offset,
        } => Some((WRITE, target(remote, remote_offset), None)),
        Operation::WriteImmediate {
            remote,
            remote_offset,
            immediate,
        } => Some((WRITE, target(remote, remote_offset), Some(immediate))),
        Operation::Read {
            remote,
            remote_offset,
        } => Some((READ, target(remote, remote_offset), None)),
    }
}

/// Prepares `at_once` requests for the locations of `post`, and checks that the requested backend serves them.
pub(super) fn prepare(
    transport: &mut Nixl,
    post: &Post<'_, NixlRegion>,
    at_once: u32,
) -> Result<(), TransportError> {
    let Some((operation, target, _)) = transfer(post) else {
        return Ok(());
    };
    let outside = || {
        let message = "a transfer is outside its memory; this is a bug in fabricbench".to_owned();
        refused("prep_xfer_dlist", message)
    };
    let rail = transport.rails.get_mut(post.rail).ok_or_else(outside)?;
    let range = post
        .region
        .range(post.rail, post.offset, post.length)
        .ok_or_else(outside)?;
    let other = rail
        .prepare(operation, range, target, at_once)
        .map_err(|message| refused("make_xfer_req", format!("rail {}: {message}", post.rail)))?;
    match other {
        None => Ok(()),
        Some(other) => {
            let message = format!(
                "rail {}: NIXL would use {other} for the transfers instead of the {} backend",
                post.rail,
                transport.spec.backend.name()
            );
            Err(provider_mismatch("query_xfer_backend", message))
        }
    }
}

/// Number of prepared requests on all rails, and the time it took to prepare them.
pub(super) fn preparation_stats(transport: &Nixl) -> PreparationStats {
    let rail_stats = |rail: &ffi::Rail| {
        let (requests, nanos) = rail.prepared();
        PreparationStats { requests, nanos }
    };
    transport
        .rails
        .iter()
        .map(rail_stats)
        .fold(PreparationStats::default(), PreparationStats::and)
}

pub(super) fn post_receive(
    transport: &mut Nixl,
    rail: Rail,
    region: &NixlRegion,
    offset: u64,
    length: u64,
    token: u32,
) -> Result<(), PostError> {
    let invalid = PostError::Refused(libc::EINVAL);
    let range = region.range(rail, offset, length).ok_or(invalid)?;
    let rail = transport.rails.get_mut(rail).ok_or(invalid)?;
    rail.receive(range, token)
}
