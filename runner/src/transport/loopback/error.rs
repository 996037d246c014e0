//! Errors that polls report. Performs no I/O.

use crds::record::FailureReason;
use rustix::io::Errno;

use super::posting::FailedPost;
use crate::transport::{Peer, Rail, TransportError};

fn completion_error(reason: FailureReason, message: String) -> TransportError {
    TransportError {
        reason,
        operation: "poll",
        message,
    }
}

/// Error for a post to which the peer responded with an errno.
pub(super) fn post_failed(peer: Peer, rail: Rail, post: &FailedPost) -> TransportError {
    let cause = match Errno::from_raw_os_error(post.status) {
        Errno::ACCESS => "the peer has no memory registered with this key and range",
        Errno::MSGSIZE => "the message is longer than the receive that the peer posted",
        _ => "the peer could not execute the post",
    };
    completion_error(
        FailureReason::CompletionFailed,
        format!(
            "{:?} of {} bytes to peer {peer} on rail {rail} (token {}): {cause} (errno {})",
            post.opcode, post.length, post.token, post.status
        ),
    )
}

/// Error for a message that is longer than the receive it was matched with.
pub(super) fn truncated(rail: Rail, message: u64, receive: u64) -> TransportError {
    completion_error(
        FailureReason::CompletionFailed,
        format!(
            "a message of {message} bytes on rail {rail} is longer than the posted receive of {receive} bytes"
        ),
    )
}

/// Error for a ring whose content is invalid.
pub(super) fn corrupt_ring(rail: Rail) -> TransportError {
    completion_error(
        FailureReason::CompletionFailed,
        format!(
            "a peer wrote invalid data to the ring of rail {rail}: use the same runner version for all workers"
        ),
    )
}
