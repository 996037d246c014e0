//! The legs of a plan.

use campaign::format::pluralized;
use campaign::plan::{Leg, Plan};

use super::arms::shorten_digest;
use crate::report::document::{Column, Detail, Layout, Note, Row, Table};

/// Number of legs in text and Markdown.
const SHOWN: usize = 8;

/// The legs, and their number if only a page shows all of them.
pub(super) fn table(plan: &Plan) -> Table {
    let legs = plan.legs.iter().enumerate();
    let rows = legs.map(|(index, leg)| {
        row(plan, leg).detail(if index < SHOWN {
            Detail::Brief
        } else {
            Detail::Full
        })
    });
    let more = (plan.legs.len() > SHOWN).then(|| {
        Note::new(
            "",
            format!("... {} legs in total", plan.legs.len()),
            Detail::Brief,
        )
    });
    Table::new(
        "",
        Column::all(["leg", "rounds", "blocks", "processes", "arms", "image"]),
        rows,
    )
    .layout(Layout::Lines)
    .notes(more)
}

fn row(plan: &Plan, leg: &Leg) -> Row {
    let rounds: Vec<_> = leg.rounds.iter().map(|round| round.round).collect();
    let rounds = match (rounds.first(), rounds.last()) {
        (Some(first), Some(last)) if first != last => format!("rounds {first} to {last}"),
        (Some(first), _) => format!("round {first}"),
        (None, _) => "no round".to_owned(),
    };
    let blocks: usize = leg.rounds.iter().map(|round| round.blocks.len()).sum();
    let arms = leg.arms.iter().filter_map(|(arm, _)| plan.arms.get(*arm));
    let arms: Vec<&str> = arms.map(|arm| arm.name.as_str()).collect();
    let parts = [
        rounds,
        pluralized(blocks as u64, "block"),
        pluralized(leg.processes.len() as u64, "process"),
        arms.join(", "),
    ];
    let image = leg.image.as_ref().map(|image| shorten_digest(image));
    let line = parts
        .iter()
        .chain(&image)
        .cloned()
        .collect::<Vec<_>>()
        .join(" · ");
    let cells = [leg.leg.to_string()].into_iter().chain(parts);
    Row::new(cells.chain([image.unwrap_or_default()])).line("", format!("{}   {line}", leg.leg))
}
