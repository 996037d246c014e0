//! Describes the differences between two specs. Performs no I/O.

use serde::Serialize;
use serde_json::Value;

use crate::json_difference::{JsonDifference, json_differences};

/// Maximum number of differences listed.
const MAX_CHANGES: usize = 5;
/// Maximum length of a value in a message, in characters.
const MAX_VALUE_CHARS: usize = 80;

/// Describes the fields that differ between `before` and `after`, such as `spec.sampling.rounds changed from 3 to 4`.
///
/// Lists the first [`MAX_CHANGES`] differences, followed by the number of remaining differences.
pub(super) fn spec_changes<T: Serialize>(before: &T, after: &T) -> Vec<String> {
    // A spec that was deserialized can always be serialized.
    let value = |spec: &T| serde_json::to_value(spec).unwrap_or_default();
    let (before, after) = (value(before), value(after));
    let differences = json_differences("spec", &before, &after);
    let mut found: Vec<String> = differences.iter().map(describe).collect();
    let more = found.len().saturating_sub(MAX_CHANGES);
    found.truncate(MAX_CHANGES);
    if more > 0 {
        found.push(format!("{more} more"));
    }
    found
}

fn describe(JsonDifference { path, first, second }: &JsonDifference<'_>) -> String {
    match (first.map(truncated_json), second.map(truncated_json)) {
        (Some(before), Some(after)) => format!("{path} changed from {before} to {after}"),
        (Some(before), None) => format!("{path} was {before} and is now unset"),
        (None, after) => format!("{path} was unset and is now {}", after.unwrap_or_default()),
    }
}

/// Formats `value` as JSON, truncated to [`MAX_VALUE_CHARS`].
fn truncated_json(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn identifies_each_changed_field_by_its_path() {
        let before =
            json!({"sampling": {"rounds": 3, "seed": 42}, "scenarios": [{"sizes": [64]}], "gone": true});
        let after =
            json!({"sampling": {"rounds": 4, "seed": 42}, "scenarios": [{"sizes": [64, 128]}], "new": "x"});
        assert_eq!(
            spec_changes(&before, &after),
            [
                "spec.gone was true and is now unset",
                "spec.sampling.rounds changed from 3 to 4",
                "spec.scenarios[0].sizes[1] was unset and is now 128",
                "spec.new was unset and is now \"x\"",
            ]
        );
        assert_eq!(spec_changes(&after, &after), Vec::<String>::new());
    }

    #[test]
    fn limits_the_number_of_changes_and_the_length_of_values() {
        let before = json!(vec![0; 20]);
        let after = json!(vec!["x".repeat(1000); 20]);
        let changes = spec_changes(&before, &after);
        assert_eq!((changes.len(), changes[5].as_str()), (6, "15 more"));
        assert!(changes.iter().all(|change| change.len() < 120), "{changes:?}");
    }
}
