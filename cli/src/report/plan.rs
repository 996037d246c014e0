//! The document of a plan: arms, legs, the posts at each size of every scenario, and optimizations that do not apply.

mod arms;
mod devices;
mod legs;
mod scenario;
mod text;

use campaign::format::pluralized;
use campaign::plan::{HashedPlan, estimate};
use campaign::plan_check::{self, Note};

use super::document::{Block, Detail, Document, Fact, Section};
use super::run::settings::{seed, workers};
use super::run::stopping;

/// Formats `plan` as text, with the notes from the plan check and `more` notes.
pub fn render(plan: &HashedPlan, more: &[Note]) -> String {
    text::render(&document(plan, more))
}

/// Document of `plan`, with the notes from the plan check and `more` notes.
pub fn document(plan: &HashedPlan, more: &[Note]) -> Document {
    let settings = [
        arms::format_transport(&plan.transport),
        workers(plan),
        pluralized(plan.rounds.into(), "round"),
        seed(plan),
        format!("{} % confidence", plan.sampling.confidence_percent),
        format!("margin {} %", plan.sampling.margin_percent),
    ];
    let tables = [("Arms", arms::table(plan)), ("Legs", legs::table(plan))];
    let tables = tables.map(|(heading, table)| Section {
        heading: heading.to_owned(),
        blocks: vec![table.into()],
        ..Section::default()
    });
    let scenarios = plan.scenarios.iter();
    let scenarios = scenarios.map(|scenario| scenario::section(plan, scenario));
    Document {
        name: plan.run.clone(),
        description: settings.join(" · "),
        facts: facts(plan),
        sections: tables
            .into_iter()
            .chain(scenarios)
            .chain(notes(plan, more))
            .collect(),
        ..Document::default()
    }
}

/// One document with the plans of several runs, for formats with one document.
pub fn combined(documents: Vec<Document>) -> Document {
    let runs: Vec<String> = documents.iter().map(|document| document.name.clone()).collect();
    let sections = documents.into_iter().flat_map(|document| {
        let facts = document.facts.into_iter();
        let first = Section {
            heading: document.name.clone(),
            description: document.description,
            blocks: facts
                .map(|fact| Block::note(fact.heading, fact.text, fact.detail))
                .collect(),
            ..Section::default()
        };
        let others = document.sections.into_iter().map(move |section| Section {
            heading: format!("{}: {}", document.name, section.heading),
            ..section
        });
        [first].into_iter().chain(others)
    });
    Document {
        name: runs.join(", "),
        description: pluralized(runs.len() as u64, "run"),
        sections: sections.collect(),
        ..Document::default()
    }
}

fn facts(plan: &HashedPlan) -> Vec<Fact> {
    let estimate = estimate(plan);
    let estimated = format!(
        "{} · {} of payload · {} of records · about {} (at {} and {}/s per rail)",
        pluralized(estimate.cases, "case"),
        decimal_bytes(estimate.payload_bytes),
        decimal_bytes(estimate.stream_bytes),
        format_seconds(estimate.seconds),
        format_micros(estimate.assumption.latency_nanos),
        decimal_bytes(estimate.assumption.rail_bytes_per_second),
    );
    let analyses = stopping::analyses(plan)
        .map(|analyses| format!("{analyses}; the estimate applies if no comparison ends earlier"));
    let always = [Fact::new("plan", plan.hash()), Fact::new("estimate", estimated)];
    let analyses = analyses.map(|analyses| Fact::new("analyses", analyses));
    let devices = devices::devices(plan).map(|devices| Fact::new("devices", devices));
    always.into_iter().chain(analyses).chain(devices).collect()
}

/// The section of the notes, the most severe first; `None` if there are none.
fn notes(plan: &HashedPlan, more: &[Note]) -> Option<Section> {
    let mut notes = plan_check::check(plan);
    notes.extend_from_slice(more);
    notes.sort_by_key(|note| std::cmp::Reverse(note.severity));
    let blocks = notes
        .into_iter()
        .map(|note| Block::note(note.severity.name(), note.message, Detail::Brief));
    let blocks: Vec<Block> = blocks.collect();
    (!blocks.is_empty()).then(|| Section {
        heading: "Notes".to_owned(),
        blocks,
        ..Section::default()
    })
}

/// Formats a number of bytes in decimal units with one decimal place.
fn decimal_bytes(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let value = bytes as f64;
    match units.iter().find(|(factor, _)| value >= *factor) {
        Some((factor, unit)) => format!("{:.1} {unit}", value / factor),
        None => format!("{bytes} B"),
    }
}

fn format_micros(nanos: u64) -> String {
    format!("{} us", nanos as f64 / 1e3)
}

fn format_seconds(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}
