//! Converts this transport's errors to [`TransportError`]s. Performs no I/O.

use super::ffi::CallError;
use super::rules;
use crate::transport::{Rail, TransportError};
use crds::record::FailureReason;
use libfabric_sys::OpenError;

pub(super) fn refused(operation: &'static str, message: String) -> TransportError {
    TransportError {
        reason: FailureReason::OperationRejected,
        operation,
        message,
    }
}

pub(super) fn no_device(operation: &'static str, message: String) -> TransportError {
    TransportError {
        reason: FailureReason::NoDevice,
        operation,
        message,
    }
}

pub(super) fn provider_mismatch(operation: &'static str, message: String) -> TransportError {
    TransportError {
        reason: FailureReason::ProviderMismatch,
        operation,
        message,
    }
}

/// Error for a library that cannot be opened. The reason is always `LibraryNotFound`, regardless of the cause.
pub(super) fn cannot_open_library(error: &OpenError) -> TransportError {
    TransportError {
        reason: FailureReason::LibraryNotFound,
        operation: "dlopen",
        message: error.to_string(),
    }
}

/// Error for a failed call on one rail.
pub(super) fn rail_refused(rail: Rail, error: &CallError) -> TransportError {
    refused(error.call, format!("rail {rail}: {error}"))
}

/// Error for a failed completion on one rail.
pub(super) fn completion_failed(rail: Rail, error: &CallError) -> TransportError {
    let reason = rules::errors::completion_failure_reason(error.number, error.provider_number);
    TransportError {
        reason,
        operation: error.call,
        message: format!("rail {rail}: {error}"),
    }
}
