//! All of this transport's calls to UCX and raw memory accesses. Everything that this module exports is safe: [`Rail`]
//! owns all objects of one rail and is used by one thread at a time. [`RailRegion`] is memory that is registered on one
//! rail. Neither outlives the objects that it was created from.
#![allow(unsafe_code)]

mod callbacks;
mod completion;
mod config;
mod connect;
mod events;
mod lanes;
mod memory;
mod messages;
mod objects;
mod open;
mod operations;
mod payload;
mod posting;
mod rail;
mod settings;
mod stable;
mod stream;
mod wait;
mod writes;

pub(super) use config::Config;
pub use memory::RailRegion;
pub(super) use posting::RemoteTarget;
pub use rail::Rail;
pub(super) use rail::RailConfig;
pub(super) use settings::{open_module, print_settings};
pub(super) use stream::capture_stdout;

use ucx_sys::Library;
use ucx_sys::bindings::{UCS_OK, ucs_status_t};

/// Failed library call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallError {
    /// Name of the call.
    pub call: &'static str,
    /// Negative status.
    pub status: ucs_status_t,
    /// The library's description of the status, and the operation that failed.
    pub message: String,
}

impl CallError {
    fn new(library: &Library, call: &'static str, status: ucs_status_t) -> Self {
        Self {
            call,
            status,
            message: library.status_message(status),
        }
    }
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.message, self.status)
    }
}

/// Converts a status to a result.
fn check(library: &Library, call: &'static str, status: ucs_status_t) -> Result<(), CallError> {
    if status == UCS_OK {
        Ok(())
    } else {
        Err(CallError::new(library, call, status))
    }
}
