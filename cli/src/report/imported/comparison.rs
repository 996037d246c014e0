//! Comparison of two runs, at least one of which is imported.

use campaign::compare::metric_name;
use campaign::format;
use serde_json::{Value, json};

use super::{NO_VERDICT, difference_text, format_values, no_gate, not_controlled, properties};
use crate::imported::{NOT_CONTROLLED, NOT_CONTROLLED_SHORT, Origin, Pair, Side, SideValue};
use crate::report::csv::unit;
use crate::report::document::{Column, Document, Fact, Row, Section, Table};
use crate::report::{RenderError, Subject, json};

/// Comparison of two runs, at least one of which is imported.
#[derive(Clone, Copy, Debug)]
pub struct UncontrolledComparison<'a> {
    /// The first run.
    pub first: &'a Side,
    /// The second run.
    pub second: &'a Side,
    /// Values of both runs.
    pub pairs: &'a [Pair],
}

impl Subject for UncontrolledComparison<'_> {
    fn document(&self) -> Document {
        let Self { first, second, pairs } = self;
        let side = |heading, side: &Side| {
            let origin = match side.origin {
                Origin::Imported => format!("imported: {NOT_CONTROLLED}"),
                Origin::Measured => "measured in rounds, but not interleaved with the other run".to_owned(),
            };
            Fact::new(heading, format!("{}, {origin}", side.name))
        };
        let rows = pairs.iter().map(|pair| {
            let metric = pair.first.metric;
            let difference = difference_text(&pair.second.observed, &pair.first.observed);
            Row::new([
                size(pair),
                variant(pair),
                metric_name(metric).to_owned(),
                format_values(metric, &pair.first.observed, noun(first)),
                format_values(metric, &pair.second.observed, noun(second)),
                format!("{difference}, {NOT_CONTROLLED_SHORT}"),
            ])
        });
        let values = ["first", "second", "difference"].map(Column::sentences);
        let columns = [Column::all(["size", "variant", "metric"]), values.into()].concat();
        Document {
            name: format!(
                "{} compared with {}: {NOT_CONTROLLED_SHORT}",
                second.name, first.name
            ),
            banners: vec![not_controlled()],
            facts: vec![
                side("first", first),
                side("second", second),
                Fact::new("verdict", NO_VERDICT),
            ],
            sections: vec![Section {
                heading: "Values".to_owned(),
                blocks: vec![Table::new("", columns, rows).into()],
                ..Section::default()
            }],
            properties: properties(),
            tests: vec![no_gate()],
            ..Document::default()
        }
    }

    fn json(&self) -> Result<String, RenderError> {
        json::text(&value(self)).map_err(RenderError::failed)
    }

    fn csv(&self) -> Result<String, RenderError> {
        Err(RenderError::CSV_OF_COMPARISON)
    }

    fn openmetrics(&self) -> Result<String, RenderError> {
        Err(RenderError::METRICS_OF_COMPARISON)
    }
}

/// The comparison as JSON.
fn value(comparison: &UncontrolledComparison<'_>) -> Value {
    let UncontrolledComparison { first, second, pairs } = comparison;
    let side = |side: &Side| json!({"run": side.name, "origin": side.origin});
    let value = |value: &SideValue| {
        json!({
            "variant": value.variant, "scenario": value.scenario, "values": value.observed.logs,
            "median": value.observed.median, "min": value.observed.min, "max": value.observed.max,
        })
    };
    let comparisons = pairs.iter().map(|pair| {
        let difference = pair.second.observed.difference(&pair.first.observed);
        json!({
            "sizeBytes": pair.first.size, "metric": pair.first.metric, "unit": unit(pair.first.metric),
            "first": value(&pair.first), "second": value(&pair.second),
            "differencePercent": difference.map(|difference| difference.percent),
            "differenceRangePercent": difference.map(|difference| difference.range_percent),
            "verdict": null,
        })
    });
    let comparisons: Vec<Value> = comparisons.collect();
    json!({
        "first": side(first), "second": side(second), "interleaved": false, "controlled": false,
        "message": format!("{NOT_CONTROLLED_SHORT}: {NOT_CONTROLLED}"), "verdict": null, "comparisons": comparisons,
    })
}

fn noun(side: &Side) -> &'static str {
    match side.origin {
        Origin::Imported => "log",
        Origin::Measured => "round",
    }
}

fn size(pair: &Pair) -> String {
    let size = pair
        .first
        .size
        .map_or_else(|| "not printed".to_owned(), format::size);
    let scenario = pair.first.scenario.as_ref().or(pair.second.scenario.as_ref());
    match scenario {
        Some(scenario) => format!("{scenario} {size}"),
        None => size,
    }
}

fn variant(pair: &Pair) -> String {
    match pair.first.variant == pair.second.variant {
        true => pair.first.variant.clone(),
        false => format!("{} | {}", pair.first.variant, pair.second.variant),
    }
}
