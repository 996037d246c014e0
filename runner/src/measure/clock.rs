//! The clock used for all measurements: `CLOCK_MONOTONIC_RAW`, in nanoseconds. Reads the clock and the name of the
//! kernel's clock source.
//!
//! NTP does not slew the raw clock, so a second has the same length in all windows measured on one machine. If the
//! clock source is a CPU counter, reading the clock takes a few tens of nanoseconds and needs no system call.

use std::fs;

use crds::record::ClockFacts;
use rustix::time::{ClockId, clock_gettime};

use crate::topology::SystemRoots;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Number of readings per batch.
const BATCH: u64 = 100;
/// Number of batches from which the median overhead is computed. All batches together take about 5 ms.
const BATCHES: usize = 1001;

/// Nanoseconds since a fixed but unspecified point before the start of this process.
#[inline]
pub fn now() -> u64 {
    clock_nanos(ClockId::MonotonicRaw)
}

/// User and system CPU time of all threads of this process, in nanoseconds.
pub fn process_cpu_nanos() -> u64 {
    clock_nanos(ClockId::ProcessCPUTime)
}

#[inline]
fn clock_nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * NANOS_PER_SECOND + time.tv_nsec as u64
}

/// Name, source, resolution and overhead of the clock. Measures the resolution and overhead.
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
    // A batch includes one additional reading at its end.
    batches[BATCHES / 2] as f64 / (BATCH + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_resolution_and_overhead() {
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
    fn reports_an_unknown_source_without_sysfs() {
        let empty = tempfile::tempdir().unwrap();
        let roots = SystemRoots {
            sys: empty.path().to_owned(),
            ..SystemRoots::default()
        };
        assert_eq!(facts(&roots).source, "unknown");
    }

    #[test]
    fn computation_increases_cpu_time() {
        let before = process_cpu_nanos();
        let sum = (0..1_000_000u64).fold(0, |sum, value| std::hint::black_box(sum ^ value));
        std::hint::black_box(sum);
        assert!(process_cpu_nanos() > before);
    }
}
