//! Checks individual values, and defines the error that names a value's flag. Performs no I/O.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crds::units::Size;
use snafu::{Snafu, ensure};

/// Maximum number of measured or warm-up operations of a scenario, so that every latency sample is stored.
pub const MAX_OPERATIONS: u32 = 1_000_000;
/// Numbers of rails.
pub const RAILS: RangeInclusive<u32> = 1..=64;
/// Time limits of a scenario, in seconds.
pub const CASE_SECONDS: RangeInclusive<u32> = 1..=super::MAX_CASE_SECONDS;
/// Numbers of small messages in a batch.
pub const CONCURRENCY: RangeInclusive<u32> = 1..=256;
/// Numbers of chunks in flight in each direction.
pub const WINDOW: RangeInclusive<u32> = 1..=4096;
/// Numbers of requests in a batch to a segment.
pub const BATCH: RangeInclusive<u32> = 1..=256;
/// Numbers of threads of a segment.
pub const THREADS: RangeInclusive<u32> = 1..=64;
/// Numbers of warm-up batches of each thread of a segment.
pub const WARMUP_BATCHES: RangeInclusive<u32> = 1..=3000;
/// Durations of the measurement of a segment, in seconds. A case may take twice as long.
pub const DURATION_SECONDS: RangeInclusive<u64> = 1..=super::MAX_CASE_SECONDS as u64 / 2;
/// Numbers of decimal places of a rate.
pub const PRECISION: RangeInclusive<u32> = 0..=9;
/// Numbers of measured operations.
pub const OPERATIONS: RangeInclusive<u32> = 1..=MAX_OPERATIONS;
/// Numbers of warm-up operations.
pub const WARMUP: RangeInclusive<u32> = 0..=MAX_OPERATIONS;

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
    check_within(flag, count, OPERATIONS)
}

/// Checks the number of warm-up operations.
pub(super) fn check_warmup(flag: &'static str, count: u32) -> Result<(), RequestError> {
    check_within(flag, count, WARMUP)
}

/// Checks that `value` is within `bounds`.
pub(super) fn check_within<T: Display + PartialOrd>(
    flag: &'static str,
    value: T,
    bounds: RangeInclusive<T>,
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
