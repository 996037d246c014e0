//! Checks of individual values, and the error that names the flag of a value. Performs no I/O.

use std::ops::RangeInclusive;

use crds::units::Size;
use snafu::{Snafu, ensure};

/// Maximum number of measured or warm-up operations of a scenario, so that every latency sample is stored.
pub const MAX_OPERATIONS: u64 = 1_000_000;

/// Reason why a request is invalid or exceeds the limits of a server.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
#[snafu(display("{flag} {reason}"), visibility(pub(super)))]
pub struct RequestError {
    /// Flag of the client that sets the value.
    flag: &'static str,
    /// Description of the problem and its remedy.
    reason: String,
}

impl RequestError {
    /// Creates the error for the value of `flag`.
    pub fn new(flag: &'static str, reason: impl Into<String>) -> Self {
        Self {
            flag,
            reason: reason.into(),
        }
    }
}

/// Checks that there is one size, from 1 byte to `max`. `limit` describes what limits it.
pub(super) fn size(flag: &'static str, sizes: &[Size], max: Size, limit: &str) -> Result<(), RequestError> {
    let [size] = sizes else {
        return Err(RequestError::new(
            flag,
            format!("has {} sizes: choose one", sizes.len()),
        ));
    };
    ensure!(
        (1..=max.bytes()).contains(&size.bytes()),
        RequestSnafu {
            flag,
            reason: format!("is {size}: choose a size from 1 to {max} ({limit})"),
        }
    );
    Ok(())
}

/// Checks a number of measured operations.
pub(super) fn operations(flag: &'static str, count: u32) -> Result<(), RequestError> {
    within(flag, count.into(), 1..=MAX_OPERATIONS)
}

/// Checks a number of warm-up operations.
pub(super) fn warmup(flag: &'static str, count: u32) -> Result<(), RequestError> {
    within(flag, count.into(), 0..=MAX_OPERATIONS)
}

/// Checks that `value` is within `bounds`.
pub(super) fn within(
    flag: &'static str,
    value: u64,
    bounds: RangeInclusive<u64>,
) -> Result<(), RequestError> {
    ensure!(
        bounds.contains(&value),
        RequestSnafu {
            flag,
            reason: format!(
                "is {value}: choose a number from {} to {}",
                bounds.start(),
                bounds.end()
            ),
        }
    );
    Ok(())
}
