//! Warnings about memory that grows from one distribution to the next.

use super::prefix::prefix_with_size;
use crate::format;
use crate::summarize::values::cell_view::CellView;

/// Memory growth of the host and its consumers from one distribution to the next, in bytes per process, above which a
/// warning is reported.
const MAX_SLOPE_BYTES: f64 = 16.0 * 1024.0;

/// Warnings about memory that grows from one distribution to the next.
pub(super) fn warnings(cells: &[CellView<'_>]) -> Vec<String> {
    let described = cells.iter().filter_map(|view| {
        let footprint = view.cell.footprint.as_ref()?;
        let slope = footprint.memory?.slope;
        if slope <= MAX_SLOPE_BYTES * f64::from(footprint.consumers + 1) {
            return None;
        }
        Some(format!(
            "{}: the memory of host and consumers grows by {} with each distribution",
            prefix_with_size(view)?,
            format::bytes(slope as u64)
        ))
    });
    described.collect()
}
