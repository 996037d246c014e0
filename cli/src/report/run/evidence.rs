//! Whether the optimizations of a scenario, and the environment variables, libraries and images of its arms, took effect.

use campaign::summarize::CellSummary;
use crds::v1alpha1::{Engagement, Optimization};

use super::{differences, overview};
use crate::report::document::{Column, Detail, Layout, Row, Table};
use crate::report::{Report, labels};

const OPTIMIZATIONS: [Optimization; 3] = [
    Optimization::Inject,
    Optimization::Doorbell,
    Optimization::Coalesce,
];

/// Table of the evidence in the scenario with index `index`.
pub(super) fn table(report: &Report<'_>, index: usize) -> Table {
    let optimizations = (0..report.plan.arms.len()).flat_map(|arm| of_arm(report, index, arm));
    let differences = differences::of_scenario(report, index)
        .into_iter()
        .map(|difference| {
            let (arm, evidence) = (difference.arm, difference.evidence);
            let subject = &evidence.subject;
            Row::new([
                arm.to_owned(),
                subject.clone(),
                format!("{:?}", evidence.engagement),
                "all sizes".to_owned(),
                format!("{:?}: {}", evidence.finding, evidence.reason),
            ])
            .line(
                "evidence",
                format!("{arm}: {subject} {}", difference.description()),
            )
        });
    let columns = ["arm", "setting", "engagement", "sizes"]
        .map(Column::new)
        .into_iter();
    let columns = columns.chain([Column::sentences("evidence")]).collect();
    let rows: Vec<Row> = optimizations.chain(differences).collect();
    Table::new("did the settings take effect?", columns, rows).layout(Layout::Lines)
}

/// Rows of the optimizations of one arm.
fn of_arm(report: &Report<'_>, index: usize, arm: usize) -> Vec<Row> {
    let plan = report.plan;
    let Some(planned) = plan.arms.get(arm) else {
        return Vec::new();
    };
    let cells_of = |arm: usize| -> Vec<&CellSummary> {
        let cells = report.cells_of(index).map(|view| view.cell);
        cells.filter(|cell| cell.arm == arm && cell.cases > 0).collect()
    };
    let all_sizes = cells_of(arm).len();
    let mut rows = Vec::new();
    for optimization in OPTIMIZATIONS {
        let kinds = overview::distinct_engagements(plan, arm, optimization, cells_of);
        // For the baseline and the control arms, a terminal lists only optimizations that apply.
        let applies = kinds
            .iter()
            .any(|(engagement, ..)| *engagement != Engagement::NotApplicable);
        let is_variant = arm != plan.baseline && planned.control.is_none();
        let detail = match applies || is_variant {
            true => Detail::Detailed,
            false => Detail::Full,
        };
        rows.extend(kinds.into_iter().map(|(engagement, sizes, reason)| {
            let (name, optimization) = (&planned.name, optimization.name());
            let sizes = match sizes.len() == all_sizes {
                true => "all sizes".to_owned(),
                false => labels::sizes(&sizes),
            };
            let line = format!("{name}: {optimization} {engagement:?} at {sizes} ({reason})");
            let engagement = format!("{engagement:?}");
            Row::new([name, optimization, &engagement, &sizes, reason])
                .detail(detail)
                .line("evidence", line)
        }));
    }
    rows
}
