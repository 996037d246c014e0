//! Warnings about memory that grows from one distribution to the next.

use super::prefix::prefix_with_size;
use crate::format;
use crate::plan::Plan;
use crate::summarize::values::cell::CellSummary;

/// Memory growth of the host and its consumers from one distribution to the next, in bytes per process, above which a
/// warning is reported.
const MAX_SLOPE_BYTES: f64 = 16.0 * 1024.0;

/// Warnings about memory that grows from one distribution to the next.
pub(super) fn warnings(plan: &Plan, cells: &[CellSummary]) -> Vec<String> {
    let described = cells.iter().filter_map(|cell| {
        let footprint = cell.footprint.as_ref()?;
        let slope = footprint.memory?.slope;
        if slope <= MAX_SLOPE_BYTES * f64::from(footprint.consumers + 1) {
            return None;
        }
        Some(format!(
            "{}: the memory of host and consumers grows by {} with each distribution",
            prefix_with_size(plan, cell)?,
            format::bytes(slope as u64)
        ))
    });
    described.collect()
}
