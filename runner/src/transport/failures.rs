//! Checks and errors that all transports share. Performs no I/O.

use super::{EndpointAddresses, OpenConfig, Rail, RemoteRegion, TransportError};
use crate::memory::Memory;
use crds::record::FailureReason;
use std::fmt::Display;

/// Error for a request that the transport or its library rejects.
pub fn refused(operation: &'static str, message: String) -> TransportError {
    TransportError {
        reason: FailureReason::OperationRejected,
        operation,
        message,
    }
}

/// Error for a missing device.
pub fn no_device(operation: &'static str, message: String) -> TransportError {
    TransportError {
        reason: FailureReason::NoDevice,
        operation,
        message,
    }
}

/// Error for a library that would use something else than was requested.
pub fn provider_mismatch(operation: &'static str, message: String) -> TransportError {
    TransportError {
        reason: FailureReason::ProviderMismatch,
        operation,
        message,
    }
}

/// Error for a library that cannot be opened. The reason is always `LibraryNotFound`, regardless of the cause.
pub fn cannot_open_library(cause: &impl Display) -> TransportError {
    TransportError {
        reason: FailureReason::LibraryNotFound,
        operation: "dlopen",
        message: cause.to_string(),
    }
}

/// Error for a configuration that does not belong to `transport`.
pub fn other_transport(transport: &str, config: &OpenConfig) -> TransportError {
    refused(
        "open",
        format!(
            "the {transport} transport received a configuration for another transport: {}",
            config.spec.library()
        ),
    )
}

/// Adds the rail to an error.
#[cold]
pub fn on_rail(rail: Rail, error: impl Into<TransportError>) -> TransportError {
    let error = error.into();
    TransportError {
        message: format!("rail {rail}: {}", error.message),
        ..error
    }
}

/// Adds a possible cause to an error.
#[cold]
pub fn with_cause(error: impl Into<TransportError>, cause: impl Display) -> TransportError {
    let error = error.into();
    TransportError {
        message: format!("{}; {cause}", error.message),
        ..error
    }
}

/// Adds the most common cause to an error for `bytes` bytes of memory that the library rejected.
pub fn may_exceed_locked_memory(error: impl Into<TransportError>, bytes: usize) -> TransportError {
    let cause = format!(
        "registering {bytes} bytes may exceed the locked-memory limit (ulimit -l), which the container runtime sets"
    );
    with_cause(error, cause)
}

/// Adds the most common cause to an error for `memory` that the library rejected: `gpu_cause` if it is GPU memory.
pub fn cannot_register(error: impl Into<TransportError>, memory: &Memory, gpu_cause: &str) -> TransportError {
    match memory.is_device() {
        true => with_cause(error, gpu_cause),
        false => may_exceed_locked_memory(error, memory.length()),
    }
}

/// Checks the number of posts in flight.
///
/// # Errors
/// Returns `OperationRejected` if the number is 0 or does not fit a token.
pub fn check_depth(config: &OpenConfig) -> Result<(), TransportError> {
    if config.depth > 0 && u32::try_from(config.depth).is_ok() {
        return Ok(());
    }
    let message = format!(
        "{} posts in flight were requested, but the number must be from 1 to {}",
        config.depth,
        u32::MAX
    );
    Err(refused("open", message))
}

/// Returns the number of rails, and checks that there is a source for each of them, or none at all.
///
/// # Errors
/// Returns `OperationRejected` if the number of sources differs.
pub fn check_sources(config: &OpenConfig, rails: u32) -> Result<usize, TransportError> {
    let rails = usize::try_from(rails).unwrap_or(usize::MAX);
    if config.rails.is_empty() || config.rails.len() == rails {
        return Ok(rails);
    }
    let message = format!(
        "{rails} rails requested, but {} rail sources given",
        config.rails.len()
    );
    Err(refused("open", message))
}

/// Checks that a peer has the same number of rails as this side. `operation` is the call that would connect them.
///
/// # Errors
/// Returns `OperationRejected` if the numbers differ.
pub fn check_peer_rails(
    operation: &'static str,
    peer: &EndpointAddresses,
    rails: usize,
) -> Result<(), TransportError> {
    if peer.rails.len() == rails {
        return Ok(());
    }
    let message = format!(
        "the peer has {} rails, but this side has {rails}: use the same number of rails for all workers",
        peer.rails.len()
    );
    Err(refused(operation, message))
}

/// Checks that a peer's region has a key for each rail of this side.
///
/// # Errors
/// Returns `OperationRejected` if the numbers differ.
pub fn check_region_rails(
    operation: &'static str,
    region: &RemoteRegion,
    rails: usize,
) -> Result<(), TransportError> {
    if region.rails.len() == rails {
        return Ok(());
    }
    let message = format!(
        "the peer's region has keys for {} rails, but this side has {rails}",
        region.rails.len()
    );
    Err(refused(operation, message))
}
