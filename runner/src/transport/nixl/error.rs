//! Converts this transport's errors to [`TransportError`]s. Performs no I/O.

use super::ffi::{CallError, OpenError, TransferError};
use crate::transport::{Rail, TransportError};
use crds::record::FailureReason;
use crds::v1alpha1::Nixl;

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

pub(super) fn provider_mismatch(operation: &'static str, message: String) -> TransportError {
    error(FailureReason::ProviderMismatch, operation, message)
}

/// Error for a library that cannot be opened. The reason is always `LibraryNotFound`, regardless of the cause.
pub(super) fn cannot_open_library(cause: &nixl_sys::OpenError) -> TransportError {
    error(FailureReason::LibraryNotFound, "dlopen", cause.to_string())
}

/// Error for an agent that cannot be opened.
pub(super) fn cannot_open(rail: Rail, spec: &Nixl, cause: &OpenError) -> TransportError {
    let backend = spec.backend.name();
    match cause {
        OpenError::NoPlugin(plugins) => error(
            FailureReason::LibraryNotFound,
            "get_available_plugins",
            format!(
                "NIXL has no plugin for the {backend} backend; available plugins: {}. Install the plugin, or set \
                 NIXL_PLUGIN_DIR to its directory",
                plugins.join(", ")
            ),
        ),
        OpenError::PluginNotLoaded(call) => error(
            FailureReason::LibraryNotFound,
            "get_plugin_params",
            format!(
                "the plugin for the {backend} backend cannot be loaded, usually because a library that it needs is \
                 missing: {call}"
            ),
        ),
        OpenError::InvalidParameter(name) => refused(
            "params_add",
            format!("the parameter {name} or its value contains a NUL byte"),
        ),
        OpenError::Call(call) => {
            let mut failure = rail_refused(rail, call);
            if call.call == "create_backend" {
                failure.message += &format!(
                    ": the {backend} backend does not accept its parameters, or finds no device that they allow"
                );
            }
            failure
        }
    }
}

/// Error for a failed call on one rail.
pub(super) fn rail_refused(rail: Rail, call: &CallError) -> TransportError {
    refused(call.call, format!("rail {rail}: {call}"))
}

/// Error for a failed transfer or notification on one rail.
pub(super) fn completion_failed(rail: Rail, failure: &TransferError) -> TransportError {
    let TransferError {
        error: call,
        peer_is_lost,
    } = failure;
    let reason = match peer_is_lost {
        true => FailureReason::PeerLost,
        false => FailureReason::CompletionFailed,
    };
    error(reason, call.call, format!("rail {rail}: {call}"))
}
