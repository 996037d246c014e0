//! Derives the number of operations for a scenario at one size from its pilot cases, so that every measured window has
//! a minimum length. Performs no I/O.
//!
//! In every round, all arms and pairs use the same number: the largest that any of them needs. All arms therefore
//! transfer the same number of messages, and slower arms have longer windows.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Extent, Workload};

/// Maximum number of operations per thread, equal to the maximum of `iterations` in a manifest.
pub const MAX_ITERATIONS: u32 = 10_000_000;

/// Ratio of the target window length of the fastest arm to the minimum window length, as a fraction. It allows for
/// rounds that are faster than the pilot.
const MARGIN: (u128, u128) = (5, 4);

/// Divisor of the case deadline: the slowest arm's window may take up to a quarter of the deadline. The rest allows for
/// the warm-up and for rounds that are slower than the pilot.
const DEADLINE_PART: u128 = 4;

/// Largest minimum window length that the case deadline allows if all arms are equally fast.
pub fn max_min_window(case_deadline_seconds: u32) -> Duration {
    Duration::from_secs(case_deadline_seconds.into()) * MARGIN.1 as u32 / (MARGIN.0 * DEADLINE_PART) as u32
}

/// Extent of a pilot case for `workload`: the minimum window length. Returns `None` if `workload` does not derive its
/// number of operations from a pilot.
pub fn extent(workload: &Workload) -> Option<Extent> {
    match workload.measured() {
        Extent::FillWindow { min_window_nanos, .. } => Some(Extent::DurationNanos(min_window_nanos)),
        Extent::Iterations(_) | Extent::DurationNanos(_) => None,
    }
}

/// Operation counts per thread, derived from the pilot cases of one scenario at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PilotCount {
    /// Number of operations that the fastest worker needs to fill its window.
    needed: u32,
    /// Number of operations that the slowest worker can complete within its share of the case deadline.
    allowed: u32,
}

impl PilotCount {
    /// Derives the counts from one worker, whose threads completed `operations` operations in `elapsed_nanos`
    /// nanoseconds in a pilot case. Returns `None` if `workload` needs no pilot or if the worker completed no
    /// operations.
    pub fn from_worker(
        workload: &Workload,
        case_deadline_seconds: u32,
        operations: u64,
        elapsed_nanos: u64,
    ) -> Option<Self> {
        let Extent::FillWindow { min_window_nanos, .. } = workload.measured() else {
            return None;
        };
        if operations == 0 || elapsed_nanos == 0 {
            return None;
        }
        let operations = u128::from(operations);
        let elapsed = u128::from(elapsed_nanos) * u128::from(workload.threads());
        let window = u128::from(min_window_nanos) * MARGIN.0;
        let deadline = u128::from(case_deadline_seconds) * 1_000_000_000;
        let count = |count: u128| u32::try_from(count).unwrap_or(u32::MAX);
        Some(Self {
            needed: count((window * operations).div_ceil(elapsed * MARGIN.1)),
            allowed: count(deadline * operations / (elapsed * DEADLINE_PART)),
        })
    }

    /// Whether the slowest worker can complete fewer operations within its share of the case deadline than the fastest
    /// worker needs to fill its window.
    pub fn is_limited_by_deadline(self) -> bool {
        self.allowed < self.needed
    }

    /// Combines the counts of the workers in `self` and in `other`.
    #[must_use]
    fn merge(self, other: Self) -> Self {
        Self {
            needed: self.needed.max(other.needed),
            allowed: self.allowed.min(other.allowed),
        }
    }

    /// Number of operations per thread that all arms and pairs use: the number that the fastest worker needs, unless
    /// the slowest worker could then exceed the case deadline. The number is at least the minimum of `workload` and at
    /// most [`MAX_ITERATIONS`].
    pub fn iterations(self, workload: &Workload) -> u32 {
        let minimum = match workload.measured() {
            Extent::FillWindow { min_iterations, .. } => min_iterations,
            Extent::Iterations(_) | Extent::DurationNanos(_) => 1,
        };
        self.needed.min(self.allowed).max(minimum).min(MAX_ITERATIONS)
    }
}

/// Counts of all pilot cases, by scenario and size.
#[derive(Clone, Debug, Default)]
pub struct PilotCounts(BTreeMap<(u32, u64), PilotCount>);

impl PilotCounts {
    /// Adds the results of one pilot case: the number of operations and the elapsed time in nanoseconds of each worker.
    pub fn add(
        &mut self,
        (scenario, size_bytes): (u32, u64),
        workload: &Workload,
        case_deadline_seconds: u32,
        workers: impl IntoIterator<Item = (u64, u64)>,
    ) {
        for (operations, nanos) in workers {
            if let Some(count) = PilotCount::from_worker(workload, case_deadline_seconds, operations, nanos) {
                self.0
                    .entry((scenario, size_bytes))
                    .and_modify(|known| *known = known.merge(count))
                    .or_insert(count);
            }
        }
    }

    /// Count for a scenario at one size; `None` if all of its pilot cases failed.
    pub fn get(&self, scenario: u32, size_bytes: u64) -> Option<PilotCount> {
        self.0.get(&(scenario, size_bytes)).copied()
    }

    /// All counts, by scenario and size.
    pub fn iter(&self) -> impl Iterator<Item = ((u32, u64), PilotCount)> {
        self.0.iter().map(|(key, count)| (*key, *count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::assignment::{PingPongWorkload, TransferWorkload};
    use crate::v1alpha1::{PingPongOperation, TransferOperation};

    fn ping_pong(measured: Extent) -> Workload {
        Workload::PingPong(PingPongWorkload {
            operation: PingPongOperation::Send,
            measured,
            warmup: Extent::Iterations(0),
        })
    }

    fn transfer(threads: u32, measured: Extent) -> Workload {
        Workload::Transfer(TransferWorkload {
            threads,
            ..TransferWorkload::new(TransferOperation::Write, 16, measured)
        })
    }

    fn window(min_iterations: u32, min_window_nanos: u64) -> Extent {
        Extent::FillWindow {
            min_iterations,
            min_window_nanos,
        }
    }

    /// Number of operations for a single worker, with a case deadline of 60 s.
    fn iterations(workload: &Workload, operations: u64, elapsed_nanos: u64) -> Option<u32> {
        let count = PilotCount::from_worker(workload, 60, operations, elapsed_nanos)?;
        Some(count.iterations(workload))
    }

    #[test]
    fn fills_the_window_with_a_margin_of_a_quarter() {
        let work = ping_pong(window(1, 20_000_000));
        assert_eq!(extent(&work), Some(Extent::DurationNanos(20_000_000)));
        // Each operation takes 1 us.
        assert_eq!(iterations(&work, 20_000, 20_000_000), Some(25_000));
        assert_eq!(iterations(&work, 3, 20_000_000), Some(4));
    }

    #[test]
    fn divides_the_operations_by_the_number_of_threads() {
        let work = transfer(4, window(1, 20_000_000));
        assert_eq!(iterations(&work, 80_000, 20_000_000), Some(25_000));
    }

    #[test]
    fn uses_the_minimum_number_if_it_fills_the_window() {
        let work = ping_pong(window(1_000, 20_000_000));
        assert_eq!(iterations(&work, 2, 32_000_000), Some(1_000));
    }

    #[test]
    fn needs_a_pilot_only_to_fill_a_window() {
        for measured in [Extent::Iterations(7), Extent::DurationNanos(7)] {
            assert_eq!(extent(&ping_pong(measured)), None);
            assert_eq!(iterations(&ping_pong(measured), 10, 10), None);
        }
        assert_eq!(iterations(&ping_pong(window(1, 1)), 0, 10), None);
    }

    #[test]
    fn fastest_worker_determines_the_number_and_slowest_limits_it() {
        let work = ping_pong(window(1_000, 20_000_000));
        let count = |operations: u64| PilotCount::from_worker(&work, 60, operations, 20_000_000).unwrap();
        assert_eq!(count(20_000).merge(count(40_000)).iterations(&work), 50_000);
        // The slowest worker completes 10 operations per 20 ms, so its share of the deadline (15 s) allows 7,500.
        assert_eq!(count(20_000).merge(count(10)).iterations(&work), 7_500);
        assert_eq!(count(20_000).merge(count(1)).iterations(&work), 1_000);
    }

    #[test]
    fn longest_minimum_window_is_reached_within_the_deadline() {
        let longest = max_min_window(60);
        assert_eq!(longest, Duration::from_secs(12));
        let work = ping_pong(window(1, longest.as_nanos() as u64));
        let count = PilotCount::from_worker(&work, 60, 1_000, 1_000_000_000).unwrap();
        assert!(!count.is_limited_by_deadline());
        assert_eq!(count.iterations(&work), 15_000);
    }

    #[test]
    fn failed_pilot_cases_are_ignored() {
        let work = ping_pong(window(1_000, 20_000_000));
        let mut counts = PilotCounts::default();
        counts.add((0, 64), &work, 60, []);
        assert_eq!(counts.get(0, 64), None);
        counts.add((0, 64), &work, 60, [(20_000, 20_000_000), (40_000, 20_000_000)]);
        assert_eq!(
            counts.get(0, 64).map(|count| count.iterations(&work)),
            Some(50_000)
        );
        assert_eq!(counts.get(1, 64), None);
    }

    proptest! {
        /// At the speed measured by the pilot, the window has the target length unless the operation count is at one of
        /// its limits.
        #[test]
        fn window_has_the_intended_length(
            min_iterations in 1..100_000_u32, log_window in 15.0..23.0_f64, log_operation in 0.0..23.0_f64,
            threads in 1..=64_u32,
        ) {
            const DEADLINE: f64 = 60e9;
            let (min_window, operation) = (log_window.exp() as u64, log_operation.exp());
            let work = transfer(threads, window(min_iterations, min_window));
            // A pilot case in which every thread completes 1,000 operations.
            let elapsed = (operation * 1_000.0).ceil() as u64;
            let count = iterations(&work, 1_000 * u64::from(threads), elapsed).unwrap();
            let window_of = |count: f64| count * elapsed as f64 / 1_000.0;
            let (nanos, intended) = (window_of(count.into()), min_window as f64 * 1.25);
            if count == min_iterations {
                prop_assert!(nanos >= intended * 0.999 || window_of(f64::from(count) + 1.0) > DEADLINE / 4.0);
            } else if count == MAX_ITERATIONS {
                prop_assert!(nanos <= intended);
            } else {
                prop_assert!(nanos <= DEADLINE / 4.0 * 1.001);
                let is_last = window_of(f64::from(count) + 1.0) > DEADLINE / 4.0;
                prop_assert!(nanos >= intended * 0.999 || is_last, "{nanos} {intended}");
                // One operation fewer would not fill the target window.
                prop_assert!(window_of(f64::from(count) - 1.0) < intended);
            }
        }
    }
}
