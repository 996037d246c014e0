//! Converts this transport's errors to [`TransportError`]s. Performs no I/O.

use super::ffi::CallError;
use super::rules;
use crate::transport::TransportError;
use crds::record::FailureReason;
use ucx_sys::bindings::{UCS_ERR_NO_DEVICE, UCS_ERR_UNREACHABLE};

impl From<CallError> for TransportError {
    fn from(error: CallError) -> Self {
        Self {
            reason: match error.status {
                UCS_ERR_NO_DEVICE => FailureReason::NoDevice,
                UCS_ERR_UNREACHABLE => FailureReason::FabricUnreachable,
                _ => FailureReason::OperationRejected,
            },
            operation: error.call,
            message: error.to_string(),
        }
    }
}

/// Error for a failed completion.
#[cold]
pub(super) fn completion_failed(error: CallError) -> TransportError {
    TransportError {
        reason: rules::errors::completion_failure_reason(error.status),
        ..error.into()
    }
}
