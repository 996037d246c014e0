//! Batches of requests to a target's segment, and their bounds. Performs no I/O.

use crds::units::Size;
use crds::v1alpha1::{MIN_VRAM_THREADS, MemoryKind, SegmentTransfer};
use snafu::ensure;

use super::Request;
use super::bounds::{self, RequestError, RequestSnafu, check_size, check_within};
use super::limits::SegmentLimits;

/// Maximum size of a request to a segment, in bytes: the largest RDMA write that an EFA device supports.
pub const MAX_REQUEST_BYTES: u64 = 1 << 30;
/// Maximum size of a segment, in bytes. Each side has two areas of this size.
pub const MAX_SEGMENT_BYTES: u64 = 8 << 30;

/// Part of a session's time limit that is not available for the measurement, in seconds. It covers the connection, the
/// setup, the integrity pass and the warm-up.
const SESSION_ALLOWANCE_SECONDS: u64 = 30;

/// Smallest segment that a target offers, in bytes, so that an initiator may use more threads or larger requests than
/// the target's own flags. Source: `buffer_capacity` in `transfer_engine_bench_v1.cpp` of Mooncake, which is never less
/// than 1 GiB.
const MIN_OFFERED_BYTES: u64 = 1 << 30;

/// Number of bytes that all threads address in a batch: requests x size x threads.
fn segment_bytes(scenario: &SegmentTransfer) -> u64 {
    let size = scenario.sizes.first().map_or(0, |size| size.bytes());
    let of_thread = size.saturating_mul(scenario.batch.into());
    of_thread.saturating_mul(scenario.threads.into())
}

/// Kinds of memory of a segment, such as `Heap and Cuda`. `use_vram` says whether it also has GPU memory.
pub fn memory_names(memory: MemoryKind, use_vram: bool) -> String {
    match use_vram {
        true => format!("{memory:?} and {:?}", MemoryKind::Cuda),
        false => format!("{memory:?}"),
    }
}

/// Number of bytes that a target with the settings of `scenario` offers to initiators.
pub fn offered_bytes(scenario: &SegmentTransfer) -> u64 {
    segment_bytes(scenario).max(MIN_OFFERED_BYTES)
}

/// Checks the settings of `scenario`.
///
/// # Errors
/// Returns an error for the first value that is out of bounds.
pub fn check_segment_transfer(scenario: &SegmentTransfer) -> Result<(), RequestError> {
    let limit = "the largest RDMA write that an EFA device supports";
    check_size("--size", &scenario.sizes, Size(MAX_REQUEST_BYTES), limit)?;
    check_within("--batch", scenario.batch, bounds::BATCH)?;
    check_within("--threads", scenario.threads, bounds::THREADS)?;
    ensure!(
        !scenario.use_vram || scenario.threads >= MIN_VRAM_THREADS,
        RequestSnafu {
            flag: "--use-vram",
            reason: format!(
                "needs at least {MIN_VRAM_THREADS} threads for a segment with DRAM and VRAM, because each thread uses one \
                 of them: set --threads, or use --use-vram=false or --use-dram=false"
            ),
        }
    );
    check_within(
        "--warmup-batches",
        scenario.warmup_batches,
        bounds::WARMUP_BATCHES,
    )?;
    check_within("--report-precision", scenario.report_precision, bounds::PRECISION)?;
    check_within(
        "--duration",
        scenario.duration.0.as_secs(),
        bounds::DURATION_SECONDS,
    )?;
    let all = segment_bytes(scenario);
    ensure!(
        all <= MAX_SEGMENT_BYTES,
        RequestSnafu {
            flag: "--size, --batch and --threads",
            reason: format!(
                "need a segment of {all} bytes: choose values whose product is at most {}",
                Size(MAX_SEGMENT_BYTES)
            ),
        }
    );
    Ok(())
}

/// Checks that a session with `scenario` ends within the target's time limit, in seconds. Otherwise, its results would
/// be lost.
///
/// # Errors
/// Returns an error if the duration is too long.
pub fn check_time_limit(scenario: &SegmentTransfer, time_limit: u64) -> Result<(), RequestError> {
    let longest = time_limit.saturating_sub(SESSION_ALLOWANCE_SECONDS);
    let duration = scenario.duration.0.as_secs();
    ensure!(
        duration <= longest,
        RequestSnafu {
            flag: "--duration",
            reason: format!(
                "is {duration}, but the target ends a session after {time_limit} s (its --time-limit), and \
                 {SESSION_ALLOWANCE_SECONDS} s of these are reserved for the setup: use a duration of at most \
                 {longest} s, or start the target with a longer --time-limit"
            ),
        }
    );
    Ok(())
}

impl Request {
    /// Checks the settings of `scenario` against the server's segment.
    ///
    /// # Errors
    /// Returns an error for the first value that the segment does not support.
    pub(super) fn check_segment(
        &self,
        scenario: &SegmentTransfer,
        limits: &SegmentLimits,
    ) -> Result<(), RequestError> {
        if let Some(expected) = &self.segment {
            ensure!(
                expected.name == limits.name && expected.run == limits.run,
                RequestSnafu {
                    flag: "--remote-segment",
                    reason: format!(
                        "names segment {} of run {}, but the target at this address serves {} of run {}: the entry \
                         in the metadata service is stale; retry after the target has republished its segment",
                        expected.name, expected.run, limits.name, limits.run
                    ),
                }
            );
        }
        check_segment_transfer(scenario)?;
        // Otherwise, the case would end before its measurement.
        check_within(
            "--duration",
            scenario.duration.0.as_secs(),
            1..=u64::from(self.case_timeout_seconds / 2),
        )?;
        check_time_limit(scenario, limits.time_limit_seconds)?;
        let needed = segment_bytes(scenario);
        ensure!(
            (self.memory, scenario.use_vram) == (limits.memory, limits.use_vram),
            RequestSnafu {
                flag: "the memory",
                reason: format!(
                    "is {}, but the segment {} is in {} memory: use the same --shmfs, --use-dram and --use-vram as on \
                     the target, which prints them in its command for the initiator",
                    memory_names(self.memory, scenario.use_vram),
                    limits.name,
                    memory_names(limits.memory, limits.use_vram)
                ),
            }
        );
        ensure!(
            needed <= limits.bytes,
            RequestSnafu {
                flag: "--threads, --batch and --size",
                reason: format!(
                    "need a segment of {}, but the segment {} has {}: start the target with the same values",
                    Size(needed),
                    limits.name,
                    Size(limits.bytes)
                ),
            }
        );
        Ok(())
    }
}
