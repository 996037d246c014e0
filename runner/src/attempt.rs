//! Timeouts and lookups shared by the coordinator and the agents of an attempt. Performs no I/O.

use std::time::Duration;

use crds::assignment::Assignment;

/// Minimum timeout for opening, connecting or closing an arm. Initializing drivers and GPUs takes several seconds.
pub const SETUP_TIMEOUT: Duration = Duration::from_secs(60);

/// Index of the instrument process that runs `arm`. For an unknown arm, returns `u32::MAX`, which is not a valid
/// process index, so that requests to the arm fail.
pub fn process_of(assignment: &Assignment, arm: u32) -> u32 {
    assignment
        .arms
        .get(arm as usize)
        .map_or(u32::MAX, |arm| arm.process)
}
