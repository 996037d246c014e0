//! All calls to libibverbs. Everything that this module exports is safe: a [`Rail`] owns its queues and is used by one
//! thread at a time, and a [`RailRegion`] is memory that is registered with a rail's device, and keeps the device open.
#![allow(unsafe_code)]

mod batch;
mod completion;
mod device;
mod library;
mod queue_pair;
mod queues;
mod rail;
mod region;

pub(super) use completion::CompletionError;
pub(super) use device::{Device, PortAttributes};
pub(super) use library::identity;
pub(super) use queue_pair::{CallCounters, Connection, QueuePost};
pub use rail::Rail;
pub(super) use rail::{Queue, RailConfig};
pub use region::RailRegion;
pub(super) use region::RegisteredRange;

use std::ffi::c_int;
use std::fmt;
use std::io;
use std::ptr::NonNull;

/// Port number used on each device.
const PORT: u8 = 1;

/// Failed library call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallError {
    /// Name of the call.
    pub call: &'static str,
    /// Error number (errno).
    pub number: c_int,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, number } = self;
        write!(f, "{call}: {}", io::Error::from_raw_os_error(*number))
    }
}

impl CallError {
    /// Creates an error for a call that failed and set `errno`.
    fn last(call: &'static str) -> Self {
        Self {
            call,
            number: io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
        }
    }
}

/// Converts a pointer that is null on error to a result.
fn check_created<T>(call: &'static str, object: *mut T) -> Result<NonNull<T>, CallError> {
    NonNull::new(object).ok_or_else(|| CallError::last(call))
}

/// Converts a return value that is 0, an error number, or -1 if the call has set `errno`, to a result.
fn check(call: &'static str, result: c_int) -> Result<(), CallError> {
    match result {
        0 => Ok(()),
        -1 => Err(CallError::last(call)),
        number => Err(CallError {
            call,
            number: number.abs(),
        }),
    }
}
