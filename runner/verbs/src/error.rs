//! Converts this transport's errors to [`TransportError`]s. Performs no I/O.

use crate::ffi::{CallError, CompletionError};
use crds::record::FailureReason;
use runner::transport::TransportError;
use runner::transport::failures::refused;

impl From<CallError> for TransportError {
    fn from(call: CallError) -> Self {
        refused(call.call, call.to_string())
    }
}

/// Error for a failed completion.
#[cold]
pub(super) fn completion_failed(failure: CompletionError) -> TransportError {
    TransportError {
        reason: match failure.peer_is_lost {
            true => FailureReason::PeerLost,
            false => FailureReason::CompletionFailed,
        },
        operation: "ibv_poll_cq",
        message: failure.to_string(),
    }
}
