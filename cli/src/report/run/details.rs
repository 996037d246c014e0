//! Tables of one scenario for readers who need every value: every quantity, rates of flows, bytes on each rail, and changes
//! in every metric.

use std::collections::BTreeMap;

use campaign::compare::metric_name;
use campaign::format;
use campaign::plan::PlannedScenario;
use campaign::summarize::{CellSummary, CellView, METRICS};
use crds::quantity::Quantity;
use crds::v1alpha1::Metric;

use super::comparison::change;
use crate::report::document::{Cell, Column, Detail, Note, Row, Table};
use crate::report::{Report, csv, labels};

/// Table of the rates of each flow and each receiver in the many-to-many pattern; without rows for other patterns.
pub(super) fn flows(report: &Report<'_>, index: usize) -> Table {
    let rows = report.cells_of(index).flat_map(|CellView { arm, cell, .. }| {
        let found = cell.flows.iter();
        found.flat_map(move |found| {
            let row = |from: String, to: u32, rate: f64| {
                Row::new([
                    format::size(cell.size_bytes),
                    arm.name.clone(),
                    from,
                    format!("rank {to}"),
                    format::bytes_per_second(rate),
                ])
            };
            let flows = found.flows.iter().map(move |flow| {
                row(
                    format!("rank {}", flow.sender),
                    flow.receiver,
                    flow.bytes_per_second,
                )
            });
            let receivers = found.receivers.iter().map(move |receiver| {
                row(
                    "all senders".to_owned(),
                    receiver.receiver,
                    receiver.bytes_per_second,
                )
            });
            flows.chain(receivers)
        })
    });
    let note = "Median payload rate over the rounds while all flows are active. The rate of a receiver is the sum over its \
                flows.";
    let columns = Column::all(["size", "arm", "from", "to", "rate"]);
    Table::new("rate of each flow", columns, rows)
        .detail(Detail::Full)
        .notes([Note::new("", note, Detail::Full)])
}

/// Table of the bytes that the initiators posted on each rail; without rows if there is a single rail.
pub(super) fn rails(report: &Report<'_>, index: usize) -> Table {
    let has_several_rails = |view: &CellView<'_>| view.cell.counters.bytes_per_rail.len() > 1;
    let views: Vec<CellView<'_>> = report.cells_of(index).filter(has_several_rails).collect();
    let counted = views.iter().map(|view| view.cell.counters.bytes_per_rail.len());
    let rails = counted.max().unwrap_or_default();
    let rows = views.iter().map(|CellView { arm, cell, .. }| {
        let bytes = (0..rails).map(|rail| {
            let bytes = cell.counters.bytes_per_rail.get(rail);
            bytes.map_or_else(|| "not used".to_owned(), |bytes| format::bytes(*bytes))
        });
        let start = [format::size(cell.size_bytes), arm.name.clone()];
        Row::new(start.into_iter().chain(bytes))
    });
    let columns = ["size", "arm"].map(str::to_owned).into_iter();
    let columns = Column::all(columns.chain((0..rails).map(|rail| format!("rail {rail}"))));
    let note = "Total bytes that the initiators posted in all valid cases.";
    Table::new("bytes per rail", columns, rows)
        .detail(Detail::Full)
        .notes([Note::new("", note, Detail::Full)])
}

/// Table of every quantity of the catalogue that was measured, in its unit.
pub(super) fn quantities(report: &Report<'_>, index: usize) -> Table {
    let views = report.cells_of(index);
    let measured: Vec<(CellView<'_>, BTreeMap<Quantity, f64>)> =
        views.map(|view| (view, view.cell.values().collect())).collect();
    let shown = Quantity::ALL.into_iter();
    let shown: Vec<Quantity> = shown
        .filter(|quantity| measured.iter().any(|(_, values)| values.contains_key(quantity)))
        .collect();
    let rows = measured.iter().map(|(CellView { arm, cell, .. }, values)| {
        let start = [format::size(cell.size_bytes), arm.name.clone()];
        let values = shown.iter().map(|quantity| {
            let value = values.get(quantity);
            value.map_or_else(|| "-".to_owned(), |value| csv::value(*value))
        });
        Row::new(start.into_iter().chain(values))
    });
    let names = shown.iter().map(|quantity| quantity.name());
    let columns = Column::all(["size", "arm"].into_iter().chain(names));
    let note = "Units are in the names, as in JSON and in the status; `fabricbench explain QUANTITY` defines each quantity. A dash \
                stands for a quantity that was not measured or does not apply.";
    Table::new("every quantity", columns, rows)
        .detail(Detail::Full)
        .notes([Note::new("", note, Detail::Full)])
}

/// Whether any arm has a value of `metric` at any size of the scenario with index `index`.
pub(super) fn has_values(report: &Report<'_>, index: usize, metric: Metric) -> bool {
    let mut views = report.cells_of(index);
    views.any(|view| view.cell.metric(metric).is_some())
}

/// Tables of the changes in every metric that has values, or that the tool printed as 0, apart from the primary metric.
pub(super) fn other_metrics(
    report: &Report<'_>,
    index: usize,
    scenario: &PlannedScenario,
) -> impl Iterator<Item = Table> {
    let is_shown = move |metric: &Metric| {
        let mut views = report.cells_of(index);
        *metric != scenario.primary
            && (has_values(report, index, *metric)
                || views.any(|view| view.cell.below_resolution.contains(metric)))
    };
    let metrics = METRICS.into_iter().filter(is_shown);
    metrics.map(move |metric| changes(report, index, scenario, metric))
}

/// Table of the changes in `metric`, which is not the primary metric.
fn changes(report: &Report<'_>, index: usize, scenario: &PlannedScenario, metric: Metric) -> Table {
    let plan = report.plan;
    let arms: Vec<usize> = (0..plan.arms.len()).filter(|arm| *arm != plan.baseline).collect();
    let rows = scenario.sizes.iter().map(|size| {
        let cells = arms.iter().map(|arm| {
            let comparison = report.evaluation.comparisons.find(index, *size, *arm, metric);
            let change = comparison.and_then(change);
            change.unwrap_or_else(|| absence(report, (index, *size, *arm), metric).to_owned())
        });
        Row::new([format::size(*size)].into_iter().chain(cells).map(Cell::from))
    });
    let names = arms.iter().map(|arm| report.arm_name(*arm));
    let note = format!(
        "Only the primary metric, {}, gets verdicts. The other metrics are descriptive.",
        metric_name(scenario.primary)
    );
    let columns = Column::all(["size"].into_iter().chain(names));
    Table::new(format!("changes in {}", metric_name(metric)), columns, rows)
        .detail(Detail::Full)
        .notes([Note::new("", note, Detail::Full)])
}

/// Why there is no change in `metric`, which is not the primary metric, of an arm at a size.
fn absence(report: &Report<'_>, cell: (usize, u64, usize), metric: Metric) -> &'static str {
    let (scenario, size_bytes, arm) = cell;
    let summary = &report.evaluation.summary;
    let compared = [arm, report.plan.baseline].map(|arm| summary.cell(scenario, size_bytes, arm));
    let any =
        |test: fn(&CellSummary, Metric) -> bool| compared.iter().flatten().any(|cell| test(cell, metric));
    if any(|cell, _| cell.valid_rounds.is_empty()) {
        "no valid round"
    } else if any(|cell, metric| cell.below_resolution.contains(&metric)) {
        labels::BELOW_RESOLUTION
    } else if any(|cell, metric| cell.metric(metric).is_none()) {
        "not reported"
    } else {
        "no round has both arms"
    }
}
