//! Describes the type of a field in words. Performs no I/O.

use serde_json::Value;

use super::lookup::options;
use super::patterns;
use super::violation::number;

/// Type and bounds of a field with this schema.
pub(crate) fn kind(schema: &Value) -> String {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let range = |least: &str, most: &str| {
        let of = if least == "minimum" { "from" } else { "of" };
        let bound = |key: &str| {
            schema
                .get(key)
                .map(number)
                .filter(|bound| bound != "0" || least == "minimum")
        };
        match (bound(least), bound(most)) {
            (None, None) => String::new(),
            (Some(least), None) => format!(" of at least {least}"),
            (None, Some(most)) => format!(" of at most {most}"),
            (Some(least), Some(most)) => format!(" {of} {least} to {most}"),
        }
    };
    if let Some(unit) = patterns::unit(schema) {
        return unit.description().to_owned();
    }
    let values = options(schema);
    if !values.is_empty() {
        return format!("one of {}", values.join(", "));
    }
    let entries = schema
        .get("additionalProperties")
        .filter(|inner| inner.is_object());
    match (text("type"), schema.get("items"), entries) {
        (_, Some(items), _) => match range("minItems", "maxItems").as_str() {
            "" => format!("list, each item {}", kind(items)),
            count => format!("list{count} items, each {}", kind(items)),
        },
        (_, _, Some(value)) => match range("minProperties", "maxProperties").as_str() {
            "" => format!("object with names of your choice, each value {}", kind(value)),
            count => format!("object{count} names of your choice, each value {}", kind(value)),
        },
        (Some("integer"), ..) => format!("an integer{}", range("minimum", "maximum")),
        (Some("number"), ..) => format!("a number{}", range("minimum", "maximum")),
        (Some("boolean"), ..) => "true or false".to_owned(),
        (Some("object"), ..) => "an object".to_owned(),
        (Some("string"), ..) => {
            let words = text("pattern").and_then(patterns::words).unwrap_or("text");
            match range("minLength", "maxLength").as_str() {
                "" => words.to_owned(),
                count => format!("{words},{count} characters"),
            }
        }
        _ => "a value as described above".to_owned(),
    }
}
