//! Notes for the reader of the results: evidence lines, and warnings about the records, the windows and the values.

mod calls;
mod disturbance;
mod footprint;
mod load;
mod prefix;
pub(super) mod records;
mod serving;
mod sweep;
mod windows;

use super::values::cell_view::CellView;
use super::values::sweep::SweepSummary;
use crate::plan::Plan;

/// Warnings about the results in `cells` and `sweeps`.
pub(super) fn warnings(plan: &Plan, cells: &[CellView<'_>], sweeps: &[SweepSummary]) -> Vec<String> {
    let mut warnings = calls::warnings(cells);
    warnings.extend(disturbance::warnings(cells));
    warnings.extend(footprint::warnings(cells));
    warnings.extend(serving::warnings(cells));
    warnings.extend(sweep::warnings(plan, cells, sweeps));
    warnings
}
