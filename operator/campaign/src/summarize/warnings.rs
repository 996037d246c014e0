//! Warnings about calls, memory use and parameter serving. Performs no I/O.

mod calls;
mod footprint;
mod serving;

use std::fmt::Display;

use super::CellSummary;
use crate::format;
use crate::plan::Plan;

/// Warnings about the results in `cells`.
pub(super) fn warnings(plan: &Plan, cells: &[CellSummary]) -> Vec<String> {
    let mut warnings = calls::warnings(plan, cells);
    warnings.extend(footprint::warnings(plan, cells));
    warnings.extend(serving::warnings(plan, cells));
    warnings
}

/// Start of a warning about `cell`, which `position` describes within its scenario; `None` for a control.
fn prefix(plan: &Plan, cell: &CellSummary, position: impl Display) -> Option<String> {
    let scenario = plan.scenarios.get(cell.scenario)?;
    let arm = plan.arms.get(cell.arm).filter(|arm| arm.control.is_none())?;
    Some(format!(
        "{} {position}: arm \"{}\"",
        scenario.assignment.name, arm.name
    ))
}

/// Start of a warning about `cell` that names its size; `None` for a control.
fn prefix_with_size(plan: &Plan, cell: &CellSummary) -> Option<String> {
    prefix(plan, cell, format_args!("at {}", format::size(cell.size_bytes)))
}
