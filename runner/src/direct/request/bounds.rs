//! Checks individual values, and defines the error that names a value's flag. Performs no I/O.

use std::ops::RangeInclusive;

use crds::units::Size;
use snafu::{Snafu, ensure};

/// Maximum number of measured or warm-up operations of a scenario, so that every latency sample is stored.
pub const MAX_OPERATIONS: u64 = 1_000_000;

/// Error returned for a request that is invalid or exceeds a server's limits.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
#[snafu(display("{flag} {reason}"), visibility(pub(super)))]
pub struct RequestError {
    /// Client flag that sets the value.
    flag: &'static str,
    /// Description of the problem and its fix.
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

/// Checks that there is exactly one size, from 1 byte to `max`. `limit` describes the origin of `max`.
pub(super) fn check_size(
    flag: &'static str,
    sizes: &[Size],
    max: Size,
    limit: &str,
) -> Result<(), RequestError> {
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

/// Checks the number of measured operations.
pub(super) fn check_operations(flag: &'static str, count: u32) -> Result<(), RequestError> {
    check_within(flag, count.into(), 1..=MAX_OPERATIONS)
}

/// Checks the number of warm-up operations.
pub(super) fn check_warmup(flag: &'static str, count: u32) -> Result<(), RequestError> {
    check_within(flag, count.into(), 0..=MAX_OPERATIONS)
}

/// Checks that `value` is within `bounds`.
pub(super) fn check_within(
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
