//! Did the optimizations of a scenario take part? A line for each variant and optimization.

use crds::v1alpha1::Optimization;

use super::line;
use crate::campaign::summarize::CellSummary;
use crate::report::Report;
use crate::report::words;

const OPTIMIZATIONS: [Optimization; 3] = [
    Optimization::Inject,
    Optimization::Doorbell,
    Optimization::Coalesce,
];

pub(super) fn render(text: &mut String, report: &Report<'_>, scenario: usize, width: u16) {
    for (index, arm) in report.plan.arms.iter().enumerate() {
        let cells: Vec<&CellSummary> = report
            .evaluation
            .summary
            .cells
            .iter()
            .filter(|cell| (cell.scenario, cell.arm) == (scenario, index) && cell.cases > 0)
            .collect();
        for optimization in OPTIMIZATIONS {
            let kinds = words::engagements(&cells, optimization);
            let said = kinds
                .iter()
                .map(|(engagement, sizes, reason)| match sizes.len() == cells.len() {
                    true => format!("{engagement:?} at all sizes ({reason})"),
                    false => format!("{engagement:?} at {} ({reason})", words::sizes(sizes)),
                });
            let said = said.collect::<Vec<_>>().join("; ");
            if !said.is_empty() {
                let about = format!("{}: {} {said}", arm.name, words::optimization(optimization));
                line(text, "engaged?", &about, width);
            }
        }
    }
}
