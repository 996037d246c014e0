//! One scenario of a plan: a table of rails and chunks by size and arm, and the optimizations that do
//! not apply.

use campaign::format::pluralized;
use campaign::plan::{Cell, Plan, PlannedScenario, Role};
use campaign::workload::rules;
use crds::assignment::Workload;
use crds::units::Size;

use crate::report::document::{Block, Column, Detail, List, Row, Section, Table};

/// The section of a scenario.
pub(super) fn section(plan: &Plan, scenario: &PlannedScenario) -> Section {
    let note = format!(
        "primary metric {:?}{}; {}; at least {} for a verdict{}",
        scenario.primary,
        match plan.many_to_many {
            Some(pattern) => format!(
                " of {} at the same time",
                pluralized(pattern.flow_count(), "flow")
            ),
            None => String::new(),
        },
        pluralized(scenario.comparisons.into(), "comparison"),
        pluralized(scenario.minimum_rounds.into(), "round"),
        match scenario.assignment.workload.tool() {
            _ if !scenario.integrity => "",
            Some(tool) if command_output::log::is_read(tool.kind) =>
                "; executed in round 0 with library logging",
            Some(_) => "; executed in round 0",
            None => "; every byte checked in round 0",
        },
    );
    let workload = rules(&scenario.assignment.workload);
    Section {
        heading: scenario.assignment.name.clone(),
        description: workload.description(&scenario.assignment, plan.many_to_many),
        blocks: vec![
            Block::note("", note, Detail::Brief),
            table(plan, scenario).into(),
            Block::List(List {
                heading: "n/a",
                items: not_applicable(plan, scenario),
                detail: Detail::Brief,
            }),
        ],
        ..Section::default()
    }
}

fn table(plan: &Plan, scenario: &PlannedScenario) -> Table {
    let arms = || {
        plan.arms
            .iter()
            .enumerate()
            .filter(|(_, arm)| arm.control.is_none())
    };
    let titles = std::iter::once("size".to_owned()).chain(arms().map(|(_, arm)| arm.name.clone()));
    let rows = scenario.sizes.iter().map(|size| {
        let cells = arms().map(|(arm, _)| {
            let found = scenario
                .cells
                .iter()
                .find(|cell| cell.arm == arm && cell.size_bytes == *size);
            let channel = plan.arms.get(arm).map(|arm| arm.channel).unwrap_or_default();
            if scenario.assignment.workload.tool().is_some() {
                return found.map_or_else(String::new, |cell| command_difference(plan, cell));
            }
            if scenario.assignment.workload.is_off_fabric(channel) {
                return format!("{:?}", channel.for_payload(*size));
            }
            found.map_or_else(String::new, text)
        });
        Row::new(std::iter::once(row_label(&scenario.assignment.workload, *size)).chain(cells))
    });
    Table::new("", Column::all(titles), rows)
}

/// Describes how the arm's command differs from the baseline's: in its arguments or its environment.
fn command_difference(plan: &Plan, cell: &Cell) -> String {
    let arm = plan.arms.get(cell.arm);
    let arguments = arm.map_or(&[][..], |arm| &arm.arguments);
    match (arguments, cell.role) {
        (_, Some(Role::NegativeControl | Role::NotApplicable)) => "as baseline".to_owned(),
        ([], _) => "1 execution".to_owned(),
        (arguments, _) => arguments.join(" "),
    }
}

/// Formats the size, with the name of the payload if it has one.
fn row_label(workload: &Workload, size: u64) -> String {
    let size_text = Size(size).to_string();
    match rules(workload).payload_name(size) {
        Some(name) => format!("{name} ({size_text})"),
        None => size_text,
    }
}

/// Formats a cell, such as `2 x 16Ki, 15/16 more`, or `as baseline` if its posts equal those of the baseline.
fn text(cell: &Cell) -> String {
    if matches!(cell.role, Some(Role::NegativeControl | Role::NotApplicable)) {
        return "as baseline".to_owned();
    }
    let mut text = format!("{} x {}", cell.rails, Size(cell.chunk_bytes));
    if cell.last_chunk_bytes != cell.chunk_bytes {
        text.push_str(&format!(" (last {})", Size(cell.last_chunk_bytes)));
    }
    if cell.more_per_burst > 0 {
        text.push_str(&format!(
            ", {}/{} more",
            cell.more_per_burst, cell.posts_per_burst
        ));
    } else if cell.posts_per_burst > 1 {
        text.push_str(&format!(", {} posts", cell.posts_per_burst));
    }
    let injected = cell.optimizations.iter().any(|planned| {
        planned.optimization == crds::v1alpha1::Optimization::Inject && planned.not_applicable.is_none()
    });
    if injected {
        text.push_str(", injected");
    }
    text
}

/// Describes the optimizations that do not apply, with one line for each arm, optimization and reason, such as
/// `doorbell Doorbell at 64, 128: only one post per rail per burst`.
fn not_applicable(plan: &Plan, scenario: &PlannedScenario) -> Vec<String> {
    let mut grouped: Vec<(String, String, Vec<String>)> = Vec::new();
    for (index, arm) in plan
        .arms
        .iter()
        .enumerate()
        .filter(|(_, arm)| arm.control.is_none())
    {
        for cell in scenario.cells.iter().filter(|cell| cell.arm == index) {
            for planned in &cell.optimizations {
                let Some(reason) = &planned.not_applicable else {
                    continue;
                };
                let what = format!("{} {:?}", arm.name, planned.optimization);
                let size = Size(cell.size_bytes).to_string();
                match grouped
                    .iter_mut()
                    .find(|(group, why, _)| *group == what && why == reason)
                {
                    Some((_, _, sizes)) => sizes.push(size),
                    None => grouped.push((what, reason.clone(), vec![size])),
                }
            }
        }
    }
    let all = scenario.sizes.len();
    let lines = grouped.into_iter().map(|(what, reason, sizes)| {
        let sizes = if sizes.len() == all {
            "every size".to_owned()
        } else {
            sizes.join(", ")
        };
        format!("{what} at {sizes}: {reason}")
    });
    lines.collect()
}
