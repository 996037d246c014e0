//! All calls of libfabric and all access to raw memory of this transport. Everything that this module exports is safe:
//! [`Rail`] owns all objects of one rail and is used by one thread at a time, [`RailRegion`] is memory registered with
//! it, and neither outlives the objects that it was created from.
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

pub(super) use completion::{Event, QueueRead};
pub(super) use info::{Info, get_info};
pub(super) use memory::{RailRegion, RegisteredRange, registration_call};
pub(super) use options::Limits;
pub(super) use posting::RemoteTarget;
pub(super) use rail::{Rail, RailConfig};
pub(super) use wait::wait_for_completions;

use libfabric_sys::Library;

/// Failed call of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallError {
    /// Name of the call.
    pub call: &'static str,
    /// Error number, positive.
    pub number: i32,
    /// Error number of the provider, positive; 0 if it reported none.
    pub provider_number: i32,
    /// Description of the error by the library.
    pub text: String,
}

impl CallError {
    /// Creates the error from the return code of the call.
    fn new(library: &Library, call: &'static str, code: i32) -> Self {
        Self {
            call,
            number: code.saturating_abs(),
            provider_number: 0,
            text: library.error_text(code),
        }
    }
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.text, self.number)
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
