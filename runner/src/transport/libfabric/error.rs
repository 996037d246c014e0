//! Converts this transport's errors to [`TransportError`]s. Performs no I/O.

use super::ffi::CallError;
use super::rules;
use crate::transport::TransportError;
use crate::transport::failures::refused;

impl From<CallError> for TransportError {
    fn from(error: CallError) -> Self {
        refused(error.call, error.to_string())
    }
}

/// Error for a failed completion.
#[cold]
pub(super) fn completion_failed(error: CallError) -> TransportError {
    TransportError {
        reason: rules::errors::completion_failure_reason(error.number, error.provider_number),
        ..error.into()
    }
}
