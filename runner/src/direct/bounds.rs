//! Bounds of the flags' values, and the error that names a value's flag. Performs no I/O.

use std::ops::RangeInclusive;

use snafu::Snafu;

use crate::measure::recorder::MAX_SAMPLES;

/// Maximum number of measured or warm-up operations of a scenario, so that every latency sample is stored, and a client
/// cannot occupy a server with more.
pub const MAX_OPERATIONS: u32 = MAX_SAMPLES;
/// Maximum time limit of a case, in seconds.
pub const MAX_CASE_SECONDS: u32 = 3600;
/// Numbers of rails.
pub const RAILS: RangeInclusive<u32> = 1..=64;
/// Time limits of a scenario, in seconds.
pub const CASE_SECONDS: RangeInclusive<u32> = 1..=MAX_CASE_SECONDS;
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
pub const DURATION_SECONDS: RangeInclusive<u64> = 1..=MAX_CASE_SECONDS as u64 / 2;
/// Numbers of decimal places of a rate.
pub const PRECISION: RangeInclusive<u32> = 0..=9;
/// Numbers of batches of small messages.
pub const BATCHES: RangeInclusive<u32> = 1..=30_000;
/// Numbers of warm-up batches of small messages.
pub const SMALL_WARMUP: RangeInclusive<u32> = 0..=3000;
/// Numbers of measured operations.
pub const OPERATIONS: RangeInclusive<u32> = 1..=MAX_OPERATIONS;
/// Numbers of warm-up operations.
pub const WARMUP: RangeInclusive<u32> = 0..=MAX_OPERATIONS;

/// Error returned for flags that are invalid.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
#[snafu(display("{flag} {reason}"), visibility(pub(super)))]
pub struct FlagError {
    /// Flag that sets the value.
    flag: &'static str,
    /// Description of the problem and its fix.
    reason: String,
}

impl FlagError {
    /// Creates the error for the value of `flag`.
    pub fn new(flag: &'static str, reason: impl Into<String>) -> Self {
        Self {
            flag,
            reason: reason.into(),
        }
    }
}
