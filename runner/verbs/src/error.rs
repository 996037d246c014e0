//! Converts this transport's errors to [`TransportError`]s. Performs no I/O.

use crate::ffi::{CallError, CompletionError};
use crds::record::FailureReason;
use runner::transport::{Rail, TransportError};

fn error(reason: FailureReason, operation: &'static str, message: String) -> TransportError {
    TransportError {
        reason,
        operation,
        message,
    }
}

pub(super) fn refused(operation: &'static str, message: String) -> TransportError {
    error(FailureReason::OperationRejected, operation, message)
}

pub(super) fn no_device(operation: &'static str, message: String) -> TransportError {
    error(FailureReason::NoDevice, operation, message)
}

pub(super) fn invalid_peer(message: String) -> TransportError {
    error(FailureReason::InvalidAssignment, "connect", message)
}

/// Error for a failed call on one rail.
pub(super) fn rail_refused(rail: Rail, call: &CallError) -> TransportError {
    refused(call.call, format!("rail {rail}: {call}"))
}

/// Error for a failed completion on one rail.
pub(super) fn completion_failed(rail: Rail, failure: &CompletionError) -> TransportError {
    let reason = match failure.peer_is_lost {
        true => FailureReason::PeerLost,
        false => FailureReason::CompletionFailed,
    };
    error(reason, "ibv_poll_cq", format!("rail {rail}: {failure}"))
}
