//! Rejects text that does not mean what it seems to mean: characters that cannot be seen, and characters that look like
//! others. A name with such a character looks right but never matches. Performs no I/O.

use crds::printable::{character_name, deceptive_character};
use crds::v1alpha1::BenchmarkRunSpec;
use serde_json::Value;

use super::reporter::Reporter;

/// Checks every string and every key in `spec`.
pub(super) fn check(spec: &BenchmarkRunSpec, report: &mut Reporter) {
    // The spec as a manifest contains every string exactly once, whatever its field is.
    let value = serde_json::to_value(spec).unwrap_or_default();
    check_value("spec", &value, report);
}

fn check_value(path: &str, value: &Value, report: &mut Reporter) {
    match value {
        Value::String(text) => check_text(path, text, report),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check_value(&format!("{path}[{index}]"), item, report);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                check_text(&path, name, report);
                check_value(&path, value, report);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn check_text(path: &str, text: &str, report: &mut Reporter) {
    if let Some(character) = deceptive_character(text) {
        let index = text.chars().position(|one| one == character).unwrap_or_default();
        report.add(
            path,
            format!(
                "the text contains {} at position {position}, so it is not what it seems to be. Type the \
                 text again instead of copying it",
                character_name(character),
                position = index + 1
            ),
        );
    }
}
