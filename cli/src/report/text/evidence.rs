//! Whether the optimizations of a scenario, and the environment variables, libraries and images of its arms, took effect:
//! one line for each variant and optimization or difference.

use campaign::summarize::CellSummary;
use crds::v1alpha1::{Engagement, Optimization};

use super::push_line;
use crate::report::{Report, differences, labels, overview};

const OPTIMIZATIONS: [Optimization; 3] = [
    Optimization::Inject,
    Optimization::Doorbell,
    Optimization::Coalesce,
];

/// Appends the evidence about the arms of the scenario with index `scenario`.
pub(super) fn render(text: &mut String, report: &Report<'_>, scenario: usize, width: u16) {
    let cells_of = |arm: usize| -> Vec<&CellSummary> {
        let cells = report.evaluation.summary.cells.iter();
        cells
            .filter(|cell| (cell.scenario, cell.arm) == (scenario, arm) && cell.cases > 0)
            .collect()
    };
    for (index, arm) in report.plan.arms.iter().enumerate() {
        let cells = cells_of(index);
        for optimization in OPTIMIZATIONS {
            let kinds = overview::distinct_engagements(report.plan, index, optimization, cells_of);
            // For the baseline and the control arms, only optimizations that apply are listed.
            let is_baseline = index == report.plan.baseline || arm.control.is_some();
            if is_baseline
                && kinds
                    .iter()
                    .all(|(engagement, ..)| *engagement == Engagement::NotApplicable)
            {
                continue;
            }
            let descriptions =
                kinds
                    .iter()
                    .map(|(engagement, sizes, reason)| match sizes.len() == cells.len() {
                        true => format!("{engagement:?} at all sizes ({reason})"),
                        false => format!("{engagement:?} at {} ({reason})", labels::sizes(sizes)),
                    });
            let description = descriptions.collect::<Vec<_>>().join("; ");
            if !description.is_empty() {
                let evidence = format!("{}: {} {description}", arm.name, optimization.name());
                push_line(text, "evidence", &evidence, width);
            }
        }
    }
    for difference in differences::of_scenario(report, scenario) {
        let (arm, subject) = (difference.arm, &difference.evidence.subject);
        let evidence = format!("{arm}: {subject} {}", difference.description());
        push_line(text, "evidence", &evidence, width);
    }
}
