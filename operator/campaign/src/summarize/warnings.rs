//! Warnings about calls, memory use and parameter serving. Performs no I/O.

mod calls;
mod footprint;
mod prefix;
mod serving;

use super::CellSummary;
use crate::plan::Plan;

/// Warnings about the results in `cells`.
pub(super) fn warnings(plan: &Plan, cells: &[CellSummary]) -> Vec<String> {
    let mut warnings = calls::warnings(plan, cells);
    warnings.extend(footprint::warnings(plan, cells));
    warnings.extend(serving::warnings(plan, cells));
    warnings
}
