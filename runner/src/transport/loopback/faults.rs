//! What polls report, in words. Pure.

use crds::record::FailureReason;
use rustix::io::Errno;

use super::outbound::Failed;
use crate::transport::{Peer, Rail, TransportError};

fn completion_error(reason: FailureReason, message: String) -> TransportError {
    TransportError {
        reason,
        operation: "poll",
        message,
    }
}

/// A post that the peer answered with an error.
pub(super) fn failed(peer: Peer, rail: Rail, post: &Failed) -> TransportError {
    let cause = match Errno::from_raw_os_error(post.status) {
        Errno::ACCESS => "the peer has no memory registered under this key and range",
        Errno::MSGSIZE => "it is longer than the receive that the peer has posted",
        _ => "the peer could not carry it out",
    };
    completion_error(
        FailureReason::CompletionFailed,
        format!(
            "{:?} of {} bytes to peer {peer} on rail {rail} (token {}): {cause} (errno {})",
            post.opcode, post.length, post.token, post.status
        ),
    )
}

/// A message that did not fit its receive.
pub(super) fn truncated(rail: Rail, message: u64, receive: u64) -> TransportError {
    completion_error(
        FailureReason::CompletionFailed,
        format!("a message of {message} bytes on rail {rail} met a receive of {receive} bytes"),
    )
}

/// A ring with nonsense in it.
pub(super) fn broken(rail: Rail) -> TransportError {
    completion_error(
        FailureReason::CompletionFailed,
        format!("a peer wrote into the ring of rail {rail} what no runner of this version writes"),
    )
}
