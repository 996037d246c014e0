//! Batches of requests to a target's segment, and their bounds. Performs no I/O.

use crds::assignment::{Extent, ScenarioAssignment, TransferWorkload};
use crds::units::{MAX_MESSAGE_BYTES, Size};
use crds::v1alpha1::{MIN_VRAM_THREADS, MemoryKind, SegmentTransfer};
use snafu::ensure;

use crate::direct::bounds::{self, FlagError, FlagSnafu};
use crate::rendezvous::proposal::ExpectedSegment;

/// Maximum size of a segment, in bytes. Each side has two areas of this size.
pub const MAX_SEGMENT_BYTES: u64 = 8 << 30;

/// Maximum number of requests of a thread in the warm-up: writes, and reads of the same memory.
const MAX_WARMUP_REQUESTS: u32 = 2 * *bounds::WARMUP_BATCHES.end() * *bounds::BATCH.end();
/// Part of a session's time limit that is not available for the measurement, in seconds. It covers the connection, the
/// setup, the integrity pass and the warm-up.
const SESSION_ALLOWANCE_SECONDS: u64 = 30;

/// Smallest segment that a target offers, in bytes, so that an initiator may use more threads or larger requests than
/// the target's own flags. Source: `buffer_capacity` in `transfer_engine_bench_v1.cpp` of Mooncake, which is never less
/// than 1 GiB.
const MIN_OFFERED_BYTES: u64 = 1 << 30;

/// A target's registered segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentLimits {
    /// Name of the segment.
    pub name: String,
    /// Random identifier of the target run, in hexadecimal.
    pub run: String,
    /// Maximum number of bytes that all threads of an initiator may address together. Each side has two areas of this
    /// size.
    pub bytes: u64,
    /// Kind of memory, or of the memory of the first half of the threads if the segment has two kinds.
    pub memory: MemoryKind,
    /// Whether the segment also has GPU memory, for the last half of the threads.
    pub use_vram: bool,
    /// Maximum duration of a session, in seconds.
    pub time_limit_seconds: u64,
}

/// Number of bytes that `threads` threads address in a batch of `batch` requests of `size` bytes.
fn segment_bytes(size: u64, batch: u32, threads: u32) -> u64 {
    size.saturating_mul(batch.into()).saturating_mul(threads.into())
}

/// Number of bytes that all threads of `scenario` address in a batch.
fn bytes_of(scenario: &SegmentTransfer) -> u64 {
    let size = scenario.sizes.first().map_or(0, |size| size.bytes());
    segment_bytes(size, scenario.batch, scenario.threads)
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
    bytes_of(scenario).max(MIN_OFFERED_BYTES)
}

/// Checks what the bounds of the individual flags leave open in `scenario`.
///
/// # Errors
/// Returns an error for the first value that is out of bounds.
pub fn check_segment_transfer(scenario: &SegmentTransfer) -> Result<(), FlagError> {
    let size = scenario.sizes.first().copied().unwrap_or_default();
    ensure!(
        (1..=MAX_MESSAGE_BYTES).contains(&size.bytes()),
        FlagSnafu {
            flag: "--size",
            reason: format!(
                "is {size}: choose a size from 1 to {} (the largest RDMA write that an EFA device supports)",
                Size(MAX_MESSAGE_BYTES)
            ),
        }
    );
    ensure!(
        !scenario.use_vram || scenario.threads >= MIN_VRAM_THREADS,
        FlagSnafu {
            flag: "--use-vram",
            reason: format!(
                "needs at least {MIN_VRAM_THREADS} threads for a segment with DRAM and VRAM, because each thread uses one \
                 of them: set --threads, or use --use-vram=false or --use-dram=false"
            ),
        }
    );
    let all = bytes_of(scenario);
    ensure!(
        all <= MAX_SEGMENT_BYTES,
        FlagSnafu {
            flag: "--size, --batch and --threads",
            reason: format!(
                "need a segment of {all} bytes: choose values whose product is at most {}",
                Size(MAX_SEGMENT_BYTES)
            ),
        }
    );
    Ok(())
}

/// Checks that a session that measures for `duration` seconds ends within the target's time limit, in seconds. Otherwise,
/// its results would be lost.
///
/// # Errors
/// Returns an error if the duration is too long.
pub fn check_time_limit(duration: u64, time_limit: u64) -> Result<(), FlagError> {
    let longest = time_limit.saturating_sub(SESSION_ALLOWANCE_SECONDS);
    ensure!(
        duration <= longest,
        FlagSnafu {
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

impl SegmentLimits {
    /// Checks `scenario` with the workload `work`, which an initiator proposes. The initiator expects the segment `expected`,
    /// if it found the address in a metadata service.
    ///
    /// # Errors
    /// Returns an error for the first value that the segment does not support.
    pub fn check(
        &self,
        scenario: &ScenarioAssignment,
        work: &TransferWorkload,
        expected: Option<&ExpectedSegment>,
    ) -> Result<(), String> {
        let own = ExpectedSegment {
            name: self.name.clone(),
            run: self.run.clone(),
        };
        if let Some(expected) = expected.filter(|expected| **expected != own) {
            return Err(format!(
                "--remote-segment names segment {} of run {}, but the target at this address serves {} of run {}: the entry \
                 in the metadata service is stale; retry after the target has republished its segment",
                expected.name, expected.run, self.name, self.run
            ));
        }
        let workload = &scenario.workload;
        let size = workload.largest_message(scenario.max_size_bytes);
        let Extent::DurationNanos(nanos) = workload.measured() else {
            return Err("a segment is measured for a --duration".to_owned());
        };
        let in_bounds = (1..=MAX_MESSAGE_BYTES).contains(&size)
            && bounds::BATCH.contains(&work.batch)
            && work.window == work.batch
            && bounds::THREADS.contains(&work.threads)
            && work.open_loop.is_none()
            && bounds::DURATION_SECONDS.contains(&nanos.div_ceil(1_000_000_000))
            && matches!(workload.warmup(), Extent::Iterations(count) if count <= MAX_WARMUP_REQUESTS);
        if !in_bounds {
            return Err(format!(
                "--size, --batch, --threads, --duration or --warmup-batches is out of bounds: use at most {} for each request, \
                 {} requests in a batch, {} threads, {} s and {} warm-up batches",
                Size(MAX_MESSAGE_BYTES),
                bounds::BATCH.end(),
                bounds::THREADS.end(),
                bounds::DURATION_SECONDS.end(),
                bounds::WARMUP_BATCHES.end()
            ));
        }
        check_time_limit(nanos.div_ceil(1_000_000_000), self.time_limit_seconds)
            .map_err(|error| error.to_string())?;
        let use_vram = match workload.second_memory() {
            None => false,
            Some((MemoryKind::Cuda, _)) => true,
            Some((other, _)) => {
                return Err(format!("some threads use {other:?} memory, which no segment has"));
            }
        };
        if (scenario.memory, use_vram) != (self.memory, self.use_vram) {
            return Err(format!(
                "the memory is {}, but the segment {} is in {} memory: use the same --shmfs, --use-dram and --use-vram as \
                 on the target, which prints them in its command for the initiator",
                memory_names(scenario.memory, use_vram),
                self.name,
                memory_names(self.memory, self.use_vram)
            ));
        }
        let needed = segment_bytes(size, work.batch, work.threads);
        if needed > self.bytes {
            return Err(format!(
                "--threads, --batch and --size need a segment of {}, but the segment {} has {}: start the target with the \
                 same values",
                Size(needed),
                self.name,
                Size(self.bytes)
            ));
        }
        Ok(())
    }
}
