//! Finds and changes the values in a JSON document.

use serde_json::{Value, json};

/// Names of fields that contain text. In these texts, the re-derivation checks only the numbers in a result's reason.
const TEXTS: [&str; 3] = ["reason", "text", "message"];

/// Appends the pointers to all values in `value` except texts.
pub fn leaves(pointer: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let is_text = |name: &str| TEXTS.contains(&name) && !pointer.ends_with("/ended");
            let fields = fields.iter().filter(|(name, _)| !is_text(name));
            fields.for_each(|(name, value)| leaves(&format!("{pointer}/{name}"), value, found));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, value)| leaves(&format!("{pointer}/{index}"), value, found));
        }
        _ => found.push(pointer.to_owned()),
    }
}

/// Returns another value of the same type.
pub fn changed_value(value: &Value) -> Value {
    match value {
        // The re-derivation tolerates small differences due to rounding, so each change exceeds its largest tolerance.
        Value::Number(number) => match number.as_i64() {
            Some(number) => json!(number + 1 + number.abs() / 1000 + 4),
            None => json!(number.as_f64().unwrap() * 1.001 + 0.01),
        },
        Value::Bool(value) => json!(!value),
        Value::String(text) => json!(match text.as_str() {
            "Regressed" => "Improved",
            "Improved" | "NoChange" => "Regressed",
            "Verified" | "Contradicted" | "Shared" => "Declared",
            "Declared" => "Verified",
            "Confirmed" | "NotApplicable" => "RequestedOnly",
            "RequestedOnly" | "NotEngaged" => "Confirmed",
            "Valid" => "Invalid",
            "Settled" => "Futile",
            other => return json!(format!("{other}x")),
        }),
        Value::Null => json!("Improved"),
        other => panic!("{other}"),
    }
}
