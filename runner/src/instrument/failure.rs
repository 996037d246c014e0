//! Failures that an instrument reports in its replies. Performs no I/O.

use crds::record::{CaseFailure, FailureReason};

use crate::transport::TransportError;

/// Creates a failure for a bug in the runner.
pub(super) fn internal(message: &str) -> CaseFailure {
    CaseFailure {
        reason: FailureReason::Internal,
        message: message.into(),
    }
}

/// Converts a transport error to a failure for the records.
pub(super) fn from_transport(error: TransportError) -> CaseFailure {
    CaseFailure {
        reason: error.reason,
        message: error.to_string(),
    }
}
