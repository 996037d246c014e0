//! Warnings about calls, memory use, parameter serving and load sweeps. Performs no I/O.

mod calls;
mod footprint;
mod prefix;
mod serving;
mod sweep;

use super::CellSummary;
use crate::plan::Plan;

/// Warnings about the results in `cells`.
pub(super) fn warnings(plan: &Plan, cells: &[CellSummary]) -> Vec<String> {
    let mut warnings = calls::warnings(plan, cells);
    warnings.extend(footprint::warnings(plan, cells));
    warnings.extend(serving::warnings(plan, cells));
    warnings.extend(sweep::warnings(plan, cells));
    warnings
}
