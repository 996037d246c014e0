//! Rules of an attempt that the coordinator and the agents share. Performs no I/O.

use std::time::Duration;

use crds::assignment::Assignment;

/// Time added to a deadline that the instrument enforces itself.
pub const GRACE: Duration = Duration::from_secs(5);
/// Minimum timeout for opening, connecting or closing an arm. Initializing drivers and GPUs takes several seconds.
pub const SETUP_TIMEOUT: Duration = Duration::from_secs(60);

/// Index of the process of `arm`. For an unknown arm, this is `u32::MAX`, which is not the index of any process, so
/// that requests to the arm fail.
pub fn process_of(assignment: &Assignment, arm: u32) -> u32 {
    assignment
        .arms
        .get(arm as usize)
        .map_or(u32::MAX, |arm| arm.process)
}
