//! Warnings about disturbances, calls, memory use, parameter serving and load sweeps. Performs no I/O.

mod calls;
mod disturbance;
mod footprint;
mod prefix;
mod serving;
mod sweep;

use super::{CellSummary, SweepSummary};
use crate::plan::Plan;

/// Warnings about the results in `cells` and `sweeps`.
pub(super) fn warnings(plan: &Plan, cells: &[CellSummary], sweeps: &[SweepSummary]) -> Vec<String> {
    let mut warnings = calls::warnings(plan, cells);
    warnings.extend(disturbance::warnings(plan, cells));
    warnings.extend(footprint::warnings(plan, cells));
    warnings.extend(serving::warnings(plan, cells));
    warnings.extend(sweep::warnings(plan, cells, sweeps));
    warnings
}
