//! Errors that polls report. Pure.

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

/// Error of a post that the peer answered with an errno.
pub(super) fn post_failed(peer: Peer, rail: Rail, post: &FailedPost) -> TransportError {
    let cause = match Errno::from_raw_os_error(post.status) {
        Errno::ACCESS => "the peer has no memory registered with this key and range",
        Errno::MSGSIZE => "the message is longer than the receive that the peer posted",
        _ => "the peer could not execute it",
    };
    completion_error(
        FailureReason::CompletionFailed,
        format!(
            "{:?} of {} bytes to peer {peer} on rail {rail} (token {}): {cause} (errno {})",
            post.opcode, post.length, post.token, post.status
        ),
    )
}

/// Error of a message that does not fit into its receive.
pub(super) fn truncated(rail: Rail, message: u64, receive: u64) -> TransportError {
    completion_error(
        FailureReason::CompletionFailed,
        format!(
            "a message of {message} bytes on rail {rail} does not fit into its receive of {receive} bytes"
        ),
    )
}

/// Error of a ring whose content is invalid.
pub(super) fn corrupt_ring(rail: Rail) -> TransportError {
    completion_error(
        FailureReason::CompletionFailed,
        format!(
            "a peer wrote invalid data to the ring of rail {rail}: run the same version of the runner on both sides"
        ),
    )
}
