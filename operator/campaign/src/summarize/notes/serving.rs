//! Warnings about workers without a version, late trainers, and push times that are based on few versions.

use super::prefix::prefix_with_size;
use crate::format;
use crate::summarize::values::cell_view::CellView;

/// Share of the due versions below which a trainer is reported as late.
const MIN_PUBLISHED_SHARE: f64 = 0.9;

/// Warnings about workers without a version, late trainers, and push times that are based on few versions.
pub(super) fn warnings(cells: &[CellView<'_>]) -> Vec<String> {
    let mut warnings = Vec::new();
    for view in cells {
        let Some(serving) = &view.cell.observations.serving else {
            continue;
        };
        let Some(prefix) = prefix_with_size(view) else {
            continue;
        };
        let without = serving.workers_without_version();
        if without > 0 {
            warnings.push(format!(
                "{prefix}: {without} of {} received no version in at least one case; the lags exclude them in these cases",
                format::pluralized(serving.workers.len() as u64, "worker")
            ));
        }
        let (published, due) = (serving.published, serving.due_versions);
        if (published as f64) < MIN_PUBLISHED_SHARE * due as f64 {
            warnings.push(format!(
                "{prefix}: the trainer published only {published} of {due} due versions, because it delivers a version \
                 before it publishes the next one; the lags would be higher if it had kept pushPeriod"
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
