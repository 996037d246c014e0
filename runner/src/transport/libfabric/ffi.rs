//! The only place of this transport that calls libfabric and touches raw memory. Everything it exports is safe:
//! [`Rail`] owns all objects of one rail and is used by one thread at a time, [`Part`] is memory registered with it,
//! and neither can outlive what it was made from.
#![allow(unsafe_code)]

mod info;
mod objects;
mod open;
mod options;
mod posting;
mod queue;
mod rail;
mod region;
mod wait;

pub(super) use info::{Info, request};
pub(super) use options::Limits;
pub(super) use posting::Destination;
pub(super) use queue::{Batch, Event};
pub(super) use rail::{Rail, RailConfig};
pub(super) use region::{Part, Span, registration};
pub(super) use wait::sleep_on;

use libfabric_sys::Library;

/// A call that the library refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallError {
    /// Name of the call.
    pub call: &'static str,
    /// Error number, positive.
    pub number: i32,
    /// The provider's own error number, positive; 0 where it gave none.
    pub provider_number: i32,
    /// The library's text for it.
    pub text: String,
}

impl CallError {
    /// `code` as the call returned it.
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

/// Turns a return code into a result.
fn check(library: &Library, call: &'static str, code: i32) -> Result<(), CallError> {
    if code < 0 {
        Err(CallError::new(library, call, code))
    } else {
        Ok(())
    }
}
