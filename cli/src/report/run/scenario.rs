//! Section of one scenario.

use campaign::format;
use campaign::plan::PlannedScenario;

use super::comparison::{baseline_text, compared_text};
use super::observations::{self, ObservationKind};
use super::{details, evidence, factors, isolated, lost_rounds, overview, plots, results, serving};
use crate::report::document::{Block, Cell, Column, Detail, Layout, Row, Section, Table};
use crate::report::{Report, labels};

/// Section of the scenario with index `index`; `None` if there is no such scenario.
pub(super) fn section(report: &Report<'_>, index: usize) -> Option<Section> {
    let plan = report.plan;
    let scenario = plan.scenarios.get(index)?;
    let note = |heading, text: String, detail| Block::note(heading, text, detail);
    let mut blocks = vec![verdicts(report, index, scenario).into()];
    blocks.extend(plots::of_scenario(report, index, scenario));
    blocks.push(results::table(report, index, scenario).into());
    let lost = lost_rounds::of_scenario(report, index).into_iter();
    blocks.extend(lost.map(|lost| note("lost", lost, Detail::Brief)));
    let bounds = overview::upper_bounds(report, index);
    blocks.extend(bounds.map(|text| note("bounds", text, Detail::Detailed)));
    let variance = overview::variance(report, index);
    blocks.extend(variance.map(|text| note("variance", text, Detail::Detailed)));
    if let Some(tests) = isolated::of_scenario(report, index) {
        blocks.extend(tests.tables.into_iter().map(Block::from));
        let counts = tests.counts.into_iter();
        blocks.extend(counts.map(|(heading, counts)| note(heading, counts, Detail::Brief)));
    }
    blocks.extend(factors::blocks(report, index));
    blocks.push(observed(report, index, scenario).into());
    blocks.push(details::flows(report, index).into());
    blocks.push(serving::workers(report, index).into());
    blocks.push(details::rails(report, index).into());
    blocks.extend(details::other_metrics(report, index, scenario).map(Block::from));
    blocks.push(details::quantities(report, index).into());
    blocks.push(evidence::table(report, index).into());
    let baseline = plan.arms.get(plan.baseline);
    Some(Section {
        heading: scenario.assignment.name.clone(),
        description: format!(
            "{}, change from {} [simultaneous {} % interval], margin {} %",
            labels::metric_title(&scenario.assignment.workload, scenario.primary),
            baseline.map_or("the baseline", |arm| arm.name.as_str()),
            plan.sampling.confidence_percent,
            plan.sampling.margin_percent
        ),
        blocks,
        ..Section::default()
    })
}

/// Table of the verdicts, with a row for each size and a column for each arm.
fn verdicts(report: &Report<'_>, index: usize, scenario: &PlannedScenario) -> Table {
    let plan = report.plan;
    let arms: Vec<usize> = (0..plan.arms.len()).filter(|arm| *arm != plan.baseline).collect();
    let named = [&plan.baseline].into_iter().chain(&arms).map(|arm| {
        let is_control = plan.arms.get(*arm).is_some_and(|arm| arm.control.is_some());
        let detail = match is_control {
            true => Detail::Full,
            false => Detail::Brief,
        };
        Column::new(plan.arm_name(*arm)).detail(detail)
    });
    let columns = [Column::new("size")].into_iter().chain(named).collect();
    let rows = scenario.sizes.iter().map(|size| {
        let baseline = baseline_text(report, index, scenario, *size);
        let compared = arms
            .iter()
            .map(|arm| compared_text(report, (index, *size, *arm), scenario.primary));
        let results = [baseline].into_iter().chain(compared).map(Cell::Result);
        Row::new([Cell::from(format::size(*size))].into_iter().chain(results))
    });
    Table::new("", columns, rows).layout(Layout::Matrix)
}

/// Table of the observations. A terminal omits those of control arms, and round trips if the scenario has several sizes,
/// because they are twice the latencies among the results.
fn observed(report: &Report<'_>, index: usize, scenario: &PlannedScenario) -> Table {
    let rows = observations::of_scenario(report, index)
        .into_iter()
        .map(|observation| {
            let (name, cell) = (&observation.view.arm.name, observation.view.cell);
            let is_repeated = observation.kind == ObservationKind::RoundTrip && scenario.sizes.len() > 1;
            let detail = match observation.view.is_control() || is_repeated {
                true => Detail::Full,
                false => Detail::Detailed,
            };
            let (size, heading) = (format::size(cell.size_bytes), observation.kind.heading());
            let line = format!("{name} at {size}: {}", observation.text);
            let cells = [size, name.clone(), heading.to_owned(), observation.text];
            Row::new(cells).detail(detail).line(heading, line)
        });
    let columns = ["size", "arm", "observation"].map(Column::new).into_iter();
    let columns = columns.chain([Column::sentences("values")]).collect();
    Table::new("observations of each arm", columns, rows)
        .detail(Detail::Detailed)
        .layout(Layout::Lines)
}
