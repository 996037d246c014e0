//! Failures in the words of the trait.

use super::ffi::CallError;
use super::rules;
use crate::transport::{Rail, TransportError};
use crds::record::FailureReason;
use libfabric_sys::OpenError;

pub(super) fn refused(operation: &'static str, message: String) -> TransportError {
    TransportError {
        reason: FailureReason::Refused,
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

pub(super) fn mismatch(operation: &'static str, message: String) -> TransportError {
    TransportError {
        reason: FailureReason::ProviderMismatch,
        operation,
        message,
    }
}

/// A library that does not open is absent for the one who asked for it, whatever the cause.
pub(super) fn library(error: &OpenError) -> TransportError {
    TransportError {
        reason: FailureReason::LibraryNotFound,
        operation: "dlopen",
        message: error.to_string(),
    }
}

/// A call on one rail.
pub(super) fn on_rail(rail: Rail, error: &CallError) -> TransportError {
    refused(error.call, format!("rail {rail}: {error}"))
}

/// A failed completion of one rail.
pub(super) fn completion(rail: Rail, error: &CallError) -> TransportError {
    let reason = rules::errors::completion_failure(error.number, error.provider_number);
    TransportError {
        reason,
        operation: error.call,
        message: format!("rail {rail}: {error}"),
    }
}
