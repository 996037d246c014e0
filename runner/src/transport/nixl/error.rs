//! Converts this transport's errors to [`TransportError`]s. Performs no I/O.

use super::ffi::{CallError, OpenError, TransferError};
use crate::transport::failures::{cannot_open_library, on_rail, refused};
use crate::transport::{Rail, TransportError};
use crds::record::FailureReason;
use crds::v1alpha1::Nixl;

impl From<CallError> for TransportError {
    fn from(call: CallError) -> Self {
        refused(call.call, call.to_string())
    }
}

/// Error for an agent that cannot be opened.
pub(super) fn cannot_open(rail: Rail, spec: &Nixl, cause: OpenError) -> TransportError {
    let backend = spec.backend.name();
    let missing = |operation, message: String| TransportError {
        operation,
        ..cannot_open_library(&message)
    };
    match cause {
        OpenError::NoPlugin(plugins) => missing(
            "get_available_plugins",
            format!(
                "NIXL has no plugin for the {backend} backend; available plugins: {}. Install the plugin, or set \
                 NIXL_PLUGIN_DIR to its directory",
                plugins.join(", ")
            ),
        ),
        OpenError::PluginNotLoaded(call) => missing(
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
            let name = call.call;
            let mut failure = on_rail(rail, call);
            if name == "create_backend" {
                failure.message += &format!(
                    ": the {backend} backend does not accept its parameters, or finds no device that they allow"
                );
            }
            failure
        }
    }
}

/// Error for a failed transfer or notification.
#[cold]
pub(super) fn completion_failed(failure: TransferError) -> TransportError {
    TransportError {
        reason: match failure.peer_is_lost {
            true => FailureReason::PeerLost,
            false => FailureReason::CompletionFailed,
        },
        ..failure.error.into()
    }
}
