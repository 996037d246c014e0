//! Rounds whose cases are all invalid for an arm at a size that has other valid rounds, with the most frequent problem. A
//! cell without any valid round has its reason in the table of verdicts.

use campaign::format;
use campaign::summarize::{CellSummary, CellView};

use crate::report::{Report, labels};

/// Describes the lost rounds of the scenario with index `index`, one text for each arm and problem.
pub(super) fn of_scenario(report: &Report<'_>, index: usize) -> Vec<String> {
    let mut groups: Vec<(&str, String, Vec<u64>)> = Vec::new();
    for CellView { arm, cell, .. } in report.cells_of(index) {
        let Some(loss) = loss(cell) else { continue };
        let known = groups
            .iter_mut()
            .find(|(name, text, _)| (*name, text) == (arm.name.as_str(), &loss));
        match known {
            Some((_, _, sizes)) => sizes.push(cell.size_bytes),
            None => groups.push((&arm.name, loss, vec![cell.size_bytes])),
        }
    }
    let describe = |(name, loss, sizes): (&str, String, Vec<u64>)| {
        format!("{name} at {}: {loss}", labels::sizes(&sizes))
    };
    groups.into_iter().map(describe).collect()
}

/// How many rounds of `cell` are valid, and the most frequent problem of its cases, which need not be the one that cost
/// these rounds; `None` if none or all rounds are valid.
fn loss(cell: &CellSummary) -> Option<String> {
    let (valid, recorded) = (cell.valid_rounds.len() as u64, u64::from(cell.recorded_rounds));
    if valid == 0 || valid >= recorded {
        return None;
    }
    let lost = recorded - valid;
    let were = if lost == 1 { "was" } else { "were" };
    Some(format!(
        "{valid} of {} are valid, and {} {were} lost; the most frequent problem: {}",
        format::pluralized(recorded, "round"),
        format::pluralized(lost, "round"),
        cell.invalid_reason()?
    ))
}
