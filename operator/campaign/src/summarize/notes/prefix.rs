//! Start of a warning: the cell that it is about.

use std::fmt::Display;

use crate::format;
use crate::plan::Plan;
use crate::summarize::values::cell::CellSummary;

/// Start of a warning about `cell`, which `position` describes within its scenario; `None` for a control.
pub(super) fn prefix(plan: &Plan, cell: &CellSummary, position: impl Display) -> Option<String> {
    let scenario = plan.scenarios.get(cell.scenario)?;
    let arm = plan.arms.get(cell.arm).filter(|arm| arm.control.is_none())?;
    Some(format!(
        "{} {position}: arm \"{}\"",
        scenario.assignment.name, arm.name
    ))
}

/// Start of a warning about `cell` that names its size; `None` for a control.
pub(super) fn prefix_with_size(plan: &Plan, cell: &CellSummary) -> Option<String> {
    prefix(plan, cell, format_args!("at {}", format::size(cell.size_bytes)))
}
