//! Reports of imported runs and of comparisons with them. Every format says that the values are not controlled, and
//! none contains a verdict. Performs no I/O.

mod comparison;
mod csv;
mod json;

use campaign::compare::metric_name;
use campaign::format;
use crds::v1alpha1::Metric;

use super::document::{
    Banner, Block, Cell, Column, Detail, Fact, List, ResultClass, Row, Section, Table, Test, TestOutcome,
    VALIDITY,
};
use super::{Document, RenderError, Subject, labels};
use crate::imported::{Difference, ImportedRun, NOT_CONTROLLED, NOT_CONTROLLED_SHORT, ValueSummary};

pub use comparison::UncontrolledComparison;

/// The verdict on values that are not controlled.
const NO_VERDICT: &str = "none: not controlled";

impl Subject for ImportedRun {
    fn document(&self) -> Document {
        let manifest = &self.manifest;
        let status = manifest.status;
        let lists = [
            ("Reported by libraries", "reported", self.reported.clone()),
            ("Logs", "log", log_lines(self)),
        ];
        let lists = lists.into_iter().map(|(title, heading, items)| Section {
            heading: title.to_owned(),
            blocks: vec![Block::List(List {
                heading,
                items,
                detail: Detail::Brief,
            })],
            ..Section::default()
        });
        let warnings = [Section::warnings(&self.warnings)];
        Document {
            name: manifest.name.clone(),
            description: title(self),
            banners: vec![not_controlled()],
            facts: vec![
                Fact::doubt(
                    "state",
                    format!("{:?}, {:?}: {NOT_CONTROLLED}", status.state, status.reason),
                ),
                Fact::new("fabric", "unknown: no byte counters were read"),
                Fact::new("noise", "unknown: there is no control arm"),
                Fact::new("verdict", NO_VERDICT),
                Fact::new("version", &manifest.version).detail(Detail::Full),
            ],
            sections: values(self).into_iter().chain(lists).chain(warnings).collect(),
            properties: properties(),
            tests: vec![no_gate()],
            ..Document::default()
        }
    }

    fn json(&self) -> Result<String, RenderError> {
        json::render(self).map_err(RenderError::failed)
    }

    fn csv(&self) -> Result<String, RenderError> {
        csv::render(self).map_err(RenderError::failed)
    }

    fn openmetrics(&self) -> Result<String, RenderError> {
        let reason =
            "an imported run has no metrics: dashboards and alerts would treat its values as measured";
        Err(RenderError::NoSuchReport { reason })
    }
}

/// Says that values are not controlled.
fn not_controlled() -> Banner {
    Banner {
        class: ResultClass::Invalid,
        text: format!("Not controlled: {NOT_CONTROLLED}."),
    }
}

fn properties() -> Vec<(&'static str, String)> {
    vec![
        ("controlled", "false".to_owned()),
        ("verdict", NO_VERDICT.to_owned()),
    ]
}

/// Test that ends in an error, so that no gate accepts values that are not controlled.
fn no_gate() -> Test {
    let summary = "imported values are not controlled";
    Test {
        name: VALIDITY.to_owned(),
        outcome: TestOutcome::Error(summary.to_owned(), NOT_CONTROLLED.to_owned()),
    }
}

/// Values of `run`, one section for each metric that a log contains.
fn values(run: &ImportedRun) -> Vec<Section> {
    let names = run.manifest.variants();
    let first = names.first().copied().unwrap_or_default();
    let difference = match names.len() {
        1 => String::new(),
        _ => format!(", difference from {first} [to within the last printed digit]"),
    };
    let of_metric = run.values.chunk_by(|one, other| one.metric == other.metric);
    let sections = of_metric.filter_map(|values| {
        let metric = values.first()?.metric;
        let same_size = values.chunk_by(|one, other| one.size == other.size);
        let rows = same_size.filter_map(|values| {
            let value = values.first()?;
            let baseline = run.value_summary(0, value.size, metric);
            let cells = (0..names.len()).map(|variant| {
                let observed = run.value_summary(variant, value.size, metric);
                cell(metric, observed, baseline.filter(|_| variant > 0))
            });
            Some(Row::new(
                [value.size_text()].into_iter().chain(cells).map(Cell::from),
            ))
        });
        let columns = Column::all(["size"].into_iter().chain(names.iter().copied()));
        Some(Section {
            heading: metric_name(metric).to_owned(),
            description: format!(
                "median of the logs of {:?} (smallest to largest){difference}: {NOT_CONTROLLED_SHORT}",
                run.manifest.tool
            ),
            blocks: vec![Table::new("", columns, rows).into()],
            ..Section::default()
        })
    });
    sections.collect()
}

/// Formats a variant's values, with their difference from `baseline`.
fn cell(metric: Metric, observed: Option<&ValueSummary>, baseline: Option<&ValueSummary>) -> String {
    let Some(observed) = observed else {
        return "no log".to_owned();
    };
    let difference = baseline.map(|baseline| {
        let difference = difference_text(observed, baseline);
        format!(", {difference} {NOT_CONTROLLED_SHORT}")
    });
    format!(
        "{}{}",
        format_values(metric, observed, "log"),
        difference.unwrap_or_default()
    )
}

/// Formats the change from `baseline` to `observed`, with the bounds that follow from the last printed digit if they differ
/// from the change as it is formatted.
fn difference_text(observed: &ValueSummary, baseline: &ValueSummary) -> String {
    match observed.difference(baseline) {
        None => "difference unknown (below the resolution),".to_owned(),
        Some(Difference {
            percent,
            range_percent,
        }) => {
            let text = |percent: f64| format::change(percent, None);
            let (least, most) = range_percent;
            let is_narrow = text(least) == text(percent) && text(most) == text(percent);
            format::change(percent, (!is_narrow).then_some(range_percent))
        }
    }
}

/// Formats the median, range and number of log or round values.
fn format_values(metric: Metric, observed: &ValueSummary, noun: &str) -> String {
    let resolution = observed.range.1 - observed.range.0;
    let text = |value: f64| match value > 0.0 {
        true => labels::printed_value(metric, value, resolution),
        false => "below the resolution".to_owned(),
    };
    let count = format::pluralized(observed.logs as u64, noun);
    match observed.logs {
        1 => format!("{} ({count})", text(observed.median)),
        _ => format!(
            "{} ({} to {}, {count})",
            text(observed.median),
            text(observed.min),
            text(observed.max)
        ),
    }
}

/// Returns the title of a report.
fn title(run: &ImportedRun) -> String {
    let logs = format::pluralized(run.manifest.logs.len() as u64, "log");
    format!(
        "imported from {logs} of {:?} at {} · {NOT_CONTROLLED_SHORT}",
        run.manifest.tool, run.manifest.imported_at
    )
}

/// Returns one line for each log.
fn log_lines(run: &ImportedRun) -> Vec<String> {
    let logs = run.manifest.logs.iter();
    let line = logs.map(|log| {
        let hash: String = log.sha256.chars().take(12).collect();
        format!("{}: {} (SHA-256 {hash}…)", log.variant, log.source)
    });
    line.collect()
}
