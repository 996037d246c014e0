//! Comparison of two runs, at least one of which is imported.

use campaign::compare::metric_name;
use campaign::format;
use crds::printable::printable;
use serde_json::{Value, json};

use super::{difference_text, format_values};
use crate::imported::{NOT_CONTROLLED, NOT_CONTROLLED_SHORT, Origin, Pair, Side, SideValue};
use crate::report::csv::unit;
use crate::report::text::{MIN_WIDTH, TextOptions, push_line};

/// Renders the comparison as text with a final newline.
pub fn text(first: &Side, second: &Side, pairs: &[Pair], options: &TextOptions<'_>) -> String {
    let width = options.width.max(MIN_WIDTH);
    let mut text = format!(
        "{} compared with {}: {NOT_CONTROLLED_SHORT}\n",
        second.name, first.name
    );
    for side in [first, second] {
        let origin = match side.origin {
            Origin::Imported => format!("imported: {NOT_CONTROLLED}"),
            Origin::Measured => "measured in rounds, but not interleaved with the other run".to_owned(),
        };
        push_line(&mut text, &side.name, &origin, width);
    }
    push_line(&mut text, "verdict", "none: not controlled", width);
    let columns = ["size", "variant", "metric", "first", "second", "difference"].map(str::to_owned);
    let rows = pairs.iter().map(|pair| {
        let metric = pair.first.metric;
        vec![
            size(pair),
            variant(pair),
            metric_name(metric).to_owned(),
            format_values(metric, &pair.first.observed, noun(first)),
            format_values(metric, &pair.second.observed, noun(second)),
            format!(
                "{}, {NOT_CONTROLLED_SHORT}",
                difference_text(&pair.second.observed, &pair.first.observed)
            ),
        ]
    });
    let rows: Vec<_> = rows.collect();
    printable(&(text + &super::text::lines(&columns, &rows, width))).into_owned()
}

/// Renders the comparison as JSON.
pub fn json(first: &Side, second: &Side, pairs: &[Pair]) -> Value {
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
