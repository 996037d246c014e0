//! In which fields two specs differ, in words. Pure.

use serde::Serialize;
use serde_json::Value;

/// Most differences that are named.
const MAX_CHANGES: usize = 5;
/// Longest value that is shown, in characters.
const MAX_VALUE: usize = 80;

/// The fields in which `now` differs from `before`, as `spec.sampling.rounds was 3 and is 4`; the first
/// [`MAX_CHANGES`], and how many more there are.
pub(super) fn changes<T: Serialize>(before: &T, now: &T) -> Vec<String> {
    // A spec was read from text: it can be written again.
    let value = |spec: &T| serde_json::to_value(spec).unwrap_or_default();
    let mut found = Vec::new();
    differ("spec", Some(&value(before)), Some(&value(now)), &mut found);
    let more = found.len().saturating_sub(MAX_CHANGES);
    found.truncate(MAX_CHANGES);
    if more > 0 {
        found.push(format!("{more} more"));
    }
    found
}

fn differ(path: &str, before: Option<&Value>, now: Option<&Value>, found: &mut Vec<String>) {
    match (before, now) {
        (before, now) if before == now => {}
        (Some(Value::Object(before)), Some(Value::Object(now))) => {
            let added = now.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(added) {
                differ(&format!("{path}.{key}"), before.get(key), now.get(key), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(now))) => {
            for index in 0..before.len().max(now.len()) {
                let path = format!("{path}[{index}]");
                differ(&path, before.get(index), now.get(index), found);
            }
        }
        (before, now) => found.push(format!("{path} was {} and is {}", shown(before), shown(now))),
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "not there".to_owned();
    };
    let text = value.to_string();
    match text.char_indices().nth(MAX_VALUE) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_is_named_by_its_path() {
        let before =
            json!({"sampling": {"rounds": 3, "seed": 42}, "scenarios": [{"sizes": [64]}], "gone": true});
        let now =
            json!({"sampling": {"rounds": 4, "seed": 42}, "scenarios": [{"sizes": [64, 128]}], "new": "x"});
        assert_eq!(
            changes(&before, &now),
            [
                "spec.gone was true and is not there",
                "spec.sampling.rounds was 3 and is 4",
                "spec.scenarios[0].sizes[1] was not there and is 128",
                "spec.new was not there and is \"x\"",
            ]
        );
        assert_eq!(changes(&now, &now), Vec::<String>::new());
    }

    #[test]
    fn lists_and_values_are_bounded() {
        let before = json!(vec![0; 20]);
        let now = json!(vec!["x".repeat(1000); 20]);
        let changes = changes(&before, &now);
        assert_eq!((changes.len(), changes[5].as_str()), (6, "15 more"));
        assert!(changes.iter().all(|change| change.len() < 120), "{changes:?}");
    }
}
