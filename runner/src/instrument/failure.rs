//! Failures that an instrument reports in its replies. Pure.

use crds::record::{CaseFailure, FailureReason};

use crate::transport::TransportError;

/// A failure caused by a defect of the runner.
pub(super) fn internal(message: &str) -> CaseFailure {
    CaseFailure {
        reason: FailureReason::Internal,
        message: message.into(),
    }
}

/// A transport error in the form that records use.
pub(super) fn from_transport(error: TransportError) -> CaseFailure {
    CaseFailure {
        reason: error.reason,
        message: error.to_string(),
    }
}
