//! Start of a warning: the cell that it is about.

use std::fmt::Display;

use crate::format;
use crate::summarize::values::cell_view::CellView;

/// Start of a warning about `view`, which `position` describes within its scenario; `None` for a control.
pub(super) fn prefix(view: &CellView<'_>, position: impl Display) -> Option<String> {
    let (scenario, arm) = (&view.scenario.assignment.name, &view.arm.name);
    (!view.is_control()).then(|| format!("{scenario} {position}: arm \"{arm}\""))
}

/// Start of a warning about `view` that names its size; `None` for a control.
pub(super) fn prefix_with_size(view: &CellView<'_>) -> Option<String> {
    prefix(view, format_args!("at {}", format::size(view.cell.size_bytes)))
}
