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

/// Number of operations per thread that fills the window of `workload`, if all threads of a worker completed
/// `operations` operations in `elapsed_nanos` in a pilot case. It is at least the minimum number of the workload and at
/// most [`MAX_ITERATIONS`]. Returns `None` if the workload needs no pilot or the worker completed nothing.
pub fn iterations(workload: &Workload, operations: u64, elapsed_nanos: u64) -> Option<u32> {
    let Extent::FillWindow {
        min_iterations,
        min_nanos,
    } = workload.measured()
    else {
        return None;
    };
    if operations == 0 || elapsed_nanos == 0 {
        return None;
    }
    let window = u128::from(min_nanos) * MARGIN.0;
    let per_thread = u128::from(elapsed_nanos) * MARGIN.1 * u128::from(memory::threads(workload));
    let needed = (window * u128::from(operations)).div_ceil(per_thread);
    let needed = u32::try_from(needed).unwrap_or(u32::MAX);
    Some(needed.max(min_iterations).min(MAX_ITERATIONS))
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

    proptest! {
        /// At the speed of the pilot, the window is at least as long as requested, or the number is at its maximum.
        #[test]
        fn window_has_the_minimum_length(
            min_iterations in 1..MAX_ITERATIONS, min_nanos in 1..10_000_000_000_u64,
            operations in 1..u64::MAX, elapsed in 1..u64::MAX, threads in 1..=64_u32,
        ) {
            let work = transfer(threads, window(min_iterations, min_nanos));
            let count = iterations(&work, operations, elapsed).unwrap();
            prop_assert!((min_iterations..=MAX_ITERATIONS).contains(&count));
            let nanos = f64::from(count) * f64::from(threads) * elapsed as f64 / operations as f64;
            prop_assert!(count == MAX_ITERATIONS || nanos >= min_nanos as f64 * 1.249);
        }
    }
}
