//! Warnings about workers without a version, and about push times that are based on few versions.

use super::prefix::prefix_with_size;
use crate::format;
use crate::plan::Plan;
use crate::summarize::CellSummary;

/// Warnings about workers without a version, and about push times that are based on few versions.
pub(super) fn warnings(plan: &Plan, cells: &[CellSummary]) -> Vec<String> {
    let mut warnings = Vec::new();
    for cell in cells {
        let Some(serving) = &cell.observations.serving else {
            continue;
        };
        let Some(prefix) = prefix_with_size(plan, cell) else {
            continue;
        };
        let without = serving.workers_without_version();
        if without > 0 {
            warnings.push(format!(
                "{prefix}: {without} of {} received no version in at least one case; the lags exclude them in these cases",
                format::pluralized(serving.workers.len() as u64, "worker")
            ));
        }
        if let Some(missing) = serving
            .not_delivered_to_all
            .filter(|missing| *missing > serving.pushes.count())
        {
            warnings.push(format!(
                "{prefix}: the push time covers only {} of {} published versions; {missing} were not delivered to all \
                 workers",
                serving.pushes.count(),
                serving.published
            ));
        }
    }
    warnings
}
