//! The clock all times are taken with: `CLOCK_MONOTONIC_RAW`, in nanoseconds. Reads the clock and, for the facts, the
//! name of the kernel's clock source.
//!
//! The raw clock is not slewed by NTP, so two windows of one machine are in the same unit. Where the clock source is
//! the processor's counter, a reading is a few tens of nanoseconds and no system call.

use std::fs;

use crds::record::ClockFacts;
use rustix::time::{ClockId, clock_gettime};

use crate::topology::SystemRoots;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Readings of one batch and number of batches that the overhead is the median of: about 5 ms in all.
const BATCH: u64 = 100;
const BATCHES: usize = 1001;

/// Nanoseconds since some fixed moment before this process was started.
#[inline]
pub fn now() -> u64 {
    nanos_of(ClockId::MonotonicRaw)
}

/// CPU time of this process, user and system, all threads, in nanoseconds.
pub fn process_cpu_nanos() -> u64 {
    nanos_of(ClockId::ProcessCPUTime)
}

#[inline]
fn nanos_of(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * NANOS_PER_SECOND + time.tv_nsec as u64
}

/// Name, source, resolution and cost of the clock, measured here and now.
pub fn facts(roots: &SystemRoots) -> ClockFacts {
    let source = roots
        .sys
        .join("devices/system/clocksource/clocksource0/current_clocksource");
    ClockFacts {
        name: "CLOCK_MONOTONIC_RAW".to_owned(),
        source: fs::read_to_string(source)
            .map_or_else(|_| "unknown".to_owned(), |name| name.trim().to_owned()),
        resolution_nanos: resolution_nanos(),
        overhead_nanos: overhead_nanos(),
    }
}

fn resolution_nanos() -> u64 {
    let mut last = now();
    let mut smallest = u64::MAX;
    for _ in 0..BATCH * BATCHES as u64 {
        let next = now();
        if next > last {
            smallest = smallest.min(next - last);
        }
        last = next;
    }
    smallest
}

fn overhead_nanos() -> f64 {
    let mut batches = [0; BATCHES];
    for batch in &mut batches {
        let start = now();
        for _ in 0..BATCH {
            std::hint::black_box(now());
        }
        *batch = now() - start;
    }
    batches.sort_unstable();
    // The closing reading of a batch is one more.
    batches[BATCHES / 2] as f64 / (BATCH + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_forward_and_its_cost_is_known() {
        let facts = facts(&SystemRoots::default());
        assert!(
            facts.resolution_nanos >= 1 && facts.resolution_nanos < 1_000_000,
            "{facts:?}"
        );
        assert!(
            facts.overhead_nanos > 0.0 && facts.overhead_nanos < 100_000.0,
            "{facts:?}"
        );
        assert!(!facts.source.is_empty());
    }

    #[test]
    fn a_source_that_is_not_shown_is_unknown() {
        let empty = tempfile::tempdir().unwrap();
        let roots = SystemRoots {
            sys: empty.path().to_owned(),
            ..SystemRoots::default()
        };
        assert_eq!(facts(&roots).source, "unknown");
    }

    #[test]
    fn work_costs_processor_time() {
        let before = process_cpu_nanos();
        let sum = (0..1_000_000u64).fold(0, |sum, value| std::hint::black_box(sum ^ value));
        std::hint::black_box(sum);
        assert!(process_cpu_nanos() > before);
    }
}
