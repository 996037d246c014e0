//! All of this transport's calls to libfabric and raw memory accesses. Everything that this module exports is safe:
//! [`Rail`] owns all objects of one rail and is used by one thread at a time. [`RailRegion`] is memory that is
//! registered on one rail. Neither outlives the objects that it was created from.
#![allow(unsafe_code)]

mod completion;
mod info;
mod memory;
mod objects;
mod open;
mod options;
mod posting;
mod rail;
mod wait;

pub(super) use completion::QueueRead;
pub(super) use info::{Info, get_info};
pub use memory::RailRegion;
pub(super) use memory::registration_call;
pub(super) use options::{Limits, PEER_TO_PEER_CALL};
pub(super) use posting::RemoteTarget;
pub use rail::Rail;
pub(super) use rail::RailConfig;

use libfabric_sys::Library;

/// Failed library call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallError {
    /// Name of the call.
    pub call: &'static str,
    /// Positive error number.
    pub number: i32,
    /// Positive error number from the provider; 0 if the provider reported none.
    pub provider_number: i32,
    /// The library's description of the error.
    pub message: String,
}

impl CallError {
    /// Creates an error from the call's return code.
    fn new(library: &Library, call: &'static str, code: i32) -> Self {
        Self {
            call,
            number: code.saturating_abs(),
            provider_number: 0,
            message: library.error_message(code),
        }
    }
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.message, self.number)
    }
}

/// Converts a return code to a result.
fn check(library: &Library, call: &'static str, code: i32) -> Result<(), CallError> {
    if code < 0 {
        Err(CallError::new(library, call, code))
    } else {
        Ok(())
    }
}
