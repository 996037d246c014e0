//! Determines the number of operations of a scenario at one size from its pilot cases, so that every measured window has
//! a minimum length. Performs no I/O.
//!
//! All arms and pairs use the same number, in all rounds: the largest that any of them needs. Arms therefore transfer the
//! same number of messages, and only the slower ones have longer windows.

use super::{Extent, Workload, memory};

/// Maximum number of operations per thread, the same as for `iterations` in a manifest.
pub const MAX_ITERATIONS: u32 = 10_000_000;

/// Ratio of the intended length of the fastest arm's window to the minimum length, as a fraction. It allows for rounds
/// that are faster than the pilot.
const MARGIN: (u128, u128) = (5, 4);

/// Extent of a pilot case of `workload`: the minimum length of its window. Returns `None` if the number of operations of
/// `workload` does not depend on a pilot.
pub fn extent(workload: &Workload) -> Option<Extent> {
    match workload.measured() {
        Extent::FillWindow { min_nanos, .. } => Some(Extent::DurationNanos(min_nanos)),
        Extent::Iterations(_) | Extent::DurationNanos(_) => None,
    }
}

/// Part of the case deadline that the window of the slowest arm may fill. The rest is for the warm-up and for rounds that
/// are slower than the pilot.
const DEADLINE_PART: u128 = 4;

/// Numbers of operations per thread that the pilot cases of one scenario and size need and allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PilotCount {
    /// Number that fills the window of the fastest worker.
    needed: u32,
    /// Number that the slowest worker completes within its part of the case deadline.
    allowed: u32,
}

impl PilotCount {
    /// Counts of one worker whose threads completed `operations` operations in `elapsed_nanos` in a pilot case. Returns
    /// `None` if `workload` needs no pilot or the worker completed nothing.
    pub fn from_worker(
        workload: &Workload,
        case_deadline_seconds: u32,
        operations: u64,
        elapsed_nanos: u64,
    ) -> Option<Self> {
        let Extent::FillWindow { min_nanos, .. } = workload.measured() else {
            return None;
        };
        if operations == 0 || elapsed_nanos == 0 {
            return None;
        }
        let operations = u128::from(operations);
        let elapsed = u128::from(elapsed_nanos) * u128::from(memory::threads(workload));
        let window = u128::from(min_nanos) * MARGIN.0;
        let deadline = u128::from(case_deadline_seconds) * 1_000_000_000;
        let count = |count: u128| u32::try_from(count).unwrap_or(u32::MAX);
        Some(Self {
            needed: count((window * operations).div_ceil(elapsed * MARGIN.1)),
            allowed: count(deadline * operations / (elapsed * DEADLINE_PART)),
        })
    }

    /// Counts of both the workers of `self` and those of `other`.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            needed: self.needed.max(other.needed),
            allowed: self.allowed.min(other.allowed),
        }
    }

    /// Number of operations per thread that all arms and pairs use: the number that the fastest worker needs, unless the
    /// slowest could then exceed the case deadline. It is at least the minimum of `workload` and at most
    /// [`MAX_ITERATIONS`].
    pub fn iterations(self, workload: &Workload) -> u32 {
        let minimum = match workload.measured() {
            Extent::FillWindow { min_iterations, .. } => min_iterations,
            Extent::Iterations(_) | Extent::DurationNanos(_) => 1,
        };
        self.needed.min(self.allowed).max(minimum).min(MAX_ITERATIONS)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::assignment::{PingPongWorkload, TransferWorkload};
    use crate::v1alpha1::{Direction, PingPongOperation, TransferOperation};

    fn ping_pong(measured: Extent) -> Workload {
        Workload::PingPong(PingPongWorkload {
            operation: PingPongOperation::Send,
            measured,
            warmup: Extent::Iterations(0),
        })
    }

    fn transfer(threads: u32, measured: Extent) -> Workload {
        Workload::Transfer(TransferWorkload {
            operation: TransferOperation::Write,
            window: 16,
            batch: 1,
            threads,
            direction: Direction::Unidirectional,
            measured,
            warmup: Extent::Iterations(0),
        })
    }

    fn window(min_iterations: u32, min_nanos: u64) -> Extent {
        Extent::FillWindow {
            min_iterations,
            min_nanos,
        }
    }

    /// Number for one worker, with a case deadline of 60 s.
    fn iterations(workload: &Workload, operations: u64, elapsed_nanos: u64) -> Option<u32> {
        let count = PilotCount::from_worker(workload, 60, operations, elapsed_nanos)?;
        Some(count.iterations(workload))
    }

    #[test]
    fn fills_the_window_with_a_margin_of_a_quarter() {
        let work = ping_pong(window(1, 20_000_000));
        assert_eq!(extent(&work), Some(Extent::DurationNanos(20_000_000)));
        // 1 us per operation.
        assert_eq!(iterations(&work, 20_000, 20_000_000), Some(25_000));
        assert_eq!(iterations(&work, 3, 20_000_000), Some(4));
    }

    #[test]
    fn divides_the_operations_by_the_number_of_threads() {
        let work = transfer(4, window(1, 20_000_000));
        assert_eq!(iterations(&work, 80_000, 20_000_000), Some(25_000));
    }

    #[test]
    fn uses_the_minimum_number_where_it_fills_the_window() {
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
    fn fastest_worker_needs_most_and_slowest_limits_the_number() {
        let work = ping_pong(window(1_000, 20_000_000));
        let count = |operations: u64| PilotCount::from_worker(&work, 60, operations, 20_000_000).unwrap();
        assert_eq!(count(20_000).merge(count(40_000)).iterations(&work), 50_000);
        // 15 s at 10 operations in 20 ms.
        assert_eq!(count(20_000).merge(count(10)).iterations(&work), 7_500);
        assert_eq!(count(20_000).merge(count(1)).iterations(&work), 1_000);
    }

    proptest! {
        /// At the speed of the pilot, the window is at least as long as requested, unless the number is at a limit.
        #[test]
        fn window_has_the_minimum_length(
            min_iterations in 1..MAX_ITERATIONS, min_nanos in 1..10_000_000_000_u64,
            operations in 1..u64::MAX, elapsed in 1..u64::MAX, threads in 1..=64_u32,
        ) {
            let work = transfer(threads, window(min_iterations, min_nanos));
            let count = iterations(&work, operations, elapsed).unwrap();
            prop_assert!((min_iterations..=MAX_ITERATIONS).contains(&count));
            let nanos = f64::from(count) * f64::from(threads) * elapsed as f64 / operations as f64;
            let limited = count == MAX_ITERATIONS || nanos > 14e9;
            prop_assert!(limited || nanos >= min_nanos as f64 * 1.249 || min_nanos > 10_000_000_000);
        }
    }
}
