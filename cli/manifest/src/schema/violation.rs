//! Describes a violation of the schema in the words of a manifest. Performs no I/O.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, JsonTypeSet, ValidationError};
use serde_json::Value;

use crate::Defect;

/// Maximum length of a value in a message, in characters. A longer value is omitted.
const MAX_VALUE_CHARS: usize = 60;

/// Converts a violation to a defect with the path of its field.
pub(super) fn defect(error: &ValidationError<'_>) -> Defect {
    let path = dotted_path(error.instance_path().as_str());
    let value = shown(error.instance());
    let message = match error.kind() {
        Kind::Type { kind } if error.instance().is_null() => {
            format!("has no value; set it to {}", expected(kind))
        }
        Kind::Type { kind } => format!("{value} is not {}", expected(kind)),
        Kind::Required { property } => {
            let field = property.as_str().unwrap_or_default();
            let path = if path.is_empty() {
                field.to_owned()
            } else {
                format!("{path}.{field}")
            };
            return Defect::field(path, "is missing; this field is required");
        }
        Kind::Minimum { limit } => format!("{value} is less than the minimum of {}", number(limit)),
        Kind::Maximum { limit } => format!("{value} is greater than the maximum of {}", number(limit)),
        Kind::MinItems { limit: 1 } => "the list is empty; add at least one item".to_owned(),
        Kind::MinItems { limit } => format!("the list has fewer than {limit} items"),
        Kind::MaxItems { limit } => format!("the list has more than {limit} items"),
        _ if is_long(error.instance()) => error.masked_with("value").to_string(),
        _ => error.to_string(),
    };
    Defect::field(path, message)
}

/// Whether a value is too long for a message.
fn is_long(value: &Value) -> bool {
    value.to_string().chars().nth(MAX_VALUE_CHARS).is_some()
}

/// Formats a value as JSON, unless it is long.
fn shown(value: &Value) -> String {
    match is_long(value) {
        true => "the value".to_owned(),
        false => value.to_string(),
    }
}

/// Formats a bound. The schema stores integers as floating-point numbers.
fn number(limit: &Value) -> String {
    let text = limit.to_string();
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Lists the types that a field may have, without `null`, which stands for a field that is not set.
fn expected(kind: &TypeKind) -> String {
    let types = match kind {
        TypeKind::Single(one) => JsonTypeSet::from(*one),
        TypeKind::Multiple(types) => *types,
    };
    let names = types.iter().filter_map(|one| match one {
        JsonType::Null => None,
        JsonType::Boolean => Some("true or false"),
        JsonType::Integer => Some("an integer"),
        JsonType::Number => Some("a number"),
        JsonType::String => Some("a string"),
        JsonType::Array => Some("a list"),
        JsonType::Object => Some("an object"),
    });
    names.collect::<Vec<_>>().join(" or ")
}

/// Converts a JSON pointer such as `/spec/variants/0/name` to `spec.variants[0].name`.
fn dotted_path(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&part);
        }
    }
    path
}
