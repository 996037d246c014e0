//! Describes violations of the schema in the words of a manifest, and finds what was probably meant. Performs no I/O.

use crds::deserialization::{Cause, unknown_field, unknown_value};
use crds::suggestion::nearest;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, JsonTypeSet, ValidationError};
use serde_json::{Value, json};

use super::lookup::{alternatives, fields, options, parents_of, required, schema_at};
use super::{patterns, shape};
use crate::Defect;
use crate::error::DefectKind;

/// Maximum length of a value in a message, in characters. A longer value is omitted.
const MAX_VALUE_CHARS: usize = 60;
/// Maximum length of the right form of a value in a message, in characters. A longer form is omitted.
const MAX_FORM_CHARS: usize = 160;

/// A violation of the schema.
#[derive(Debug)]
pub(crate) struct Violation {
    /// JSON pointer to the value that violates the schema. For a missing or an unknown field, the object around it.
    pub(crate) pointer: String,
    /// Description of the violation and how to fix it.
    pub(crate) defect: Defect,
    /// Change that makes the document valid enough to find further problems.
    pub(crate) repair: Option<Repair>,
    /// Field that is missing in the object, if that is the violation.
    pub(crate) missing: Option<String>,
}

/// A change of a document.
#[derive(Debug, PartialEq)]
pub(crate) enum Repair {
    /// Renames a field of the object. The user meant this field.
    Rename {
        /// Name in the document.
        from: String,
        /// Name in the schema.
        to: String,
    },
    /// Removes a field from the object. It is unclear what the user meant.
    RemoveField(String),
    /// Replaces the value with what the user meant.
    Meant(Value),
    /// Replaces the value with a valid one. It is unclear which one the user meant.
    Replace(Value),
}

/// Converts an error of the validator to violations: one for each unknown field. `schema` is the schema of the document.
pub(super) fn violations(error: &ValidationError<'_>, schema: &Value) -> Vec<Violation> {
    let pointer = error.instance_path().as_str();
    let found = schema_at(schema, pointer);
    if let Kind::AdditionalProperties { unexpected } = error.kind() {
        let known = found.map(fields).unwrap_or_default();
        let given = error.instance();
        return unexpected
            .iter()
            .map(|field| unexpected_field(pointer, field, given, &known, schema))
            .collect();
    }
    let path = dotted_path(pointer);
    let (message, repair) = describe(error, found.unwrap_or(&Value::Null), &path);
    let missing = match error.kind() {
        Kind::Required { property } => property.as_str().map(str::to_owned),
        _ => None,
    };
    let path = match &missing {
        Some(field) => child_path(&path, field),
        None => path,
    };
    vec![Violation {
        pointer: pointer.to_owned(),
        defect: Defect::field(path, message).of_kind(kind(error, found)),
        repair,
        missing,
    }]
}

/// Kind of the defect for a violation of `schema`, the schema of the value.
fn kind(error: &ValidationError<'_>, schema: Option<&Value>) -> DefectKind {
    match error.kind() {
        Kind::Required { .. } => DefectKind::Missing,
        Kind::OneOfNotValid { .. } => DefectKind::NoAlternative,
        Kind::Pattern { .. } if schema.and_then(patterns::unit).is_some() => DefectKind::Unit,
        _ => DefectKind::Other,
    }
}

/// Message and repair for a violation of `schema`, the schema of the value.
fn describe(error: &ValidationError<'_>, schema: &Value, path: &str) -> (String, Option<Repair>) {
    let given = error.instance();
    let value = shown(given);
    match error.kind() {
        Kind::Type { kind } if given.is_null() => {
            (format!("has no value; set it to {}", expected(kind)), None)
        }
        Kind::Type { kind } => {
            let expected = match patterns::unit(schema) {
                Some(unit) => unit.description().to_owned(),
                None => expected(kind),
            };
            wrong_type(given, &expected, schema, path)
        }
        Kind::Required { .. } => (Cause::Missing.to_string(), None),
        Kind::Enum { .. } => wrong_option(given, &options(schema)),
        Kind::OneOfNotValid { .. } | Kind::OneOfMultipleValid { .. } => (one_of(given, schema), None),
        Kind::Minimum { limit } => (
            format!("{value} is less than the minimum of {}", number(limit)),
            whole(limit).map(Repair::Replace),
        ),
        Kind::Maximum { limit } => (
            format!("{value} is greater than the maximum of {}", number(limit)),
            whole(limit).map(Repair::Replace),
        ),
        Kind::MinItems { limit: 1 } => ("the list is empty; add at least one item".to_owned(), None),
        Kind::MinItems { limit } => (format!("the list has fewer than {limit} items"), None),
        Kind::MaxItems { limit } => (format!("the list has more than {limit} items"), None),
        Kind::MaxProperties { limit } => (format!("there are more than {limit} entries"), None),
        Kind::MinLength { limit: 1 } => ("the text is empty".to_owned(), None),
        Kind::Pattern { pattern } => (patterns::describe(&value, pattern, given), None),
        _ if is_long(given) => (error.masked_with("the value").to_string(), None),
        _ => (error.to_string(), None),
    }
}

/// A field that the object does not have.
fn unexpected_field(pointer: &str, field: &str, given: &Value, known: &[&str], schema: &Value) -> Violation {
    let path = dotted_path(pointer);
    // A field that is already set cannot be meant by another one.
    let unset = known.iter().copied().filter(|name| given.get(*name).is_none());
    let meant = nearest(field, unset).map(str::to_owned);
    let spec = schema.get("properties").and_then(|all| all.get("spec"));
    let elsewhere = match (&meant, spec) {
        (None, Some(spec)) => parents_of(spec, "spec", field),
        _ => Vec::new(),
    };
    let message = match elsewhere.is_empty() {
        true => unknown_field(field, known),
        false => format!(
            "unknown field `{field}`. It belongs to {}. {}",
            elsewhere.join(" or "),
            match known {
                [] => "There are no fields here".to_owned(),
                known => format!("Use one of {}", known.join(", ")),
            }
        ),
    };
    Violation {
        pointer: pointer.to_owned(),
        defect: Defect::field(child_path(&path, field), message),
        repair: Some(match meant {
            Some(to) if may_be_value_of(pointer, &to, given.get(field), schema) => Repair::Rename {
                from: field.to_owned(),
                to,
            },
            _ => Repair::RemoveField(field.to_owned()),
        }),
        missing: None,
    }
}

/// Whether a value can be meant for the field `name` of the object at `pointer`. Otherwise, its type would be reported as
/// a second defect.
fn may_be_value_of(pointer: &str, name: &str, value: Option<&Value>, schema: &Value) -> bool {
    let field = schema_at(schema, &format!("{pointer}/{name}"));
    match (field, value) {
        (Some(field), Some(value)) => shape::fits(value, field) || shape::right_form(value, field).is_some(),
        _ => false,
    }
}

/// A value of the wrong type, with the right form if it is clear.
fn wrong_type(given: &Value, expected: &str, schema: &Value, path: &str) -> (String, Option<Repair>) {
    let value = shown(given);
    let Some(form) = shape::right_form(given, schema) else {
        let example = example(schema).map_or_else(String::new, |example| format!("; write {example}"));
        let example = match given.as_str().filter(|text| shape::starts_with_zero(text)) {
            Some(text) => format!(
                ": it starts with 0, and some programs read such a number as octal; write {}",
                text.trim_start_matches('0').parse().unwrap_or(0_u64)
            ),
            None => example,
        };
        // A field that has a default can be omitted.
        let is_optional = schema.get("default").is_some() || schema.get("nullable").is_some();
        let omitted = || schema.get("default").cloned().unwrap_or_default();
        return (
            format!("{value} is not {expected}{example}"),
            is_optional.then(|| Repair::Replace(omitted())),
        );
    };
    let text = shape::yaml(&form);
    let name = path.rsplit('.').next().unwrap_or(path);
    let written = match name.ends_with(']') {
        true => format!("- {text}"),
        false => format!("{name}: {text}"),
    };
    let message = match text.chars().nth(MAX_FORM_CHARS) {
        Some(_) => format!("{value} is not {expected}"),
        None => format!("{value} is not {expected}; write `{written}`"),
    };
    (message, Some(Repair::Meant(form)))
}

/// The form of an object in a message, such as `{FIELD: VALUE} with the fields provider and rails`.
fn example(schema: &Value) -> Option<String> {
    let choices = alternatives(schema);
    let names = fields(schema);
    match (choices.is_empty(), names.is_empty()) {
        (false, _) => Some(format!(
            "{{FIELD: {{...}}}} with one of the fields {}",
            choices.join(", ")
        )),
        (true, false) => match names.as_slice() {
            [only] => Some(format!("{{{only}: VALUE}}")),
            names => Some(format!(
                "{{FIELD: VALUE}} with any of the fields {}",
                names.join(", ")
            )),
        },
        (true, true) => {
            let items = schema.get("items")?;
            match required(items).as_slice() {
                [] => match (patterns::unit(items), options(items).as_slice()) {
                    (Some(unit), _) => Some(format!("[{}]", unit.example())),
                    (None, []) => Some("[VALUE]".to_owned()),
                    (None, options) => Some(format!("[VALUE] with any of the values {}", options.join(", "))),
                },
                names => {
                    let fields: Vec<_> = names.iter().map(|name| format!("{name}: VALUE")).collect();
                    Some(format!("[{{{}}}]", fields.join(", ")))
                }
            }
        }
    }
}

/// A value that is not among the options.
fn wrong_option(given: &Value, options: &[&str]) -> (String, Option<Repair>) {
    let Some(text) = given.as_str() else {
        return (
            format!("{} is not one of {}", shown(given), options.join(", ")),
            None,
        );
    };
    let shown: String = text.chars().take(MAX_VALUE_CHARS).collect();
    let repair = match nearest(text, options.iter().copied()) {
        Some(meant) => Some(Repair::Meant(json!(meant))),
        None => options.first().map(|first| Repair::Replace(json!(first))),
    };
    (unknown_value(&shown, options), repair)
}

/// An object of which exactly one field must be set.
fn one_of(given: &Value, schema: &Value) -> String {
    let choices = alternatives(schema);
    let set: Vec<_> = choices
        .iter()
        .copied()
        .filter(|name| given.get(*name).is_some())
        .collect();
    let found = match set.as_slice() {
        [] => "none is".to_owned(),
        several => format!("there are {}", several.join(" and ")),
    };
    format!("exactly one of {} must be set, but {found}", choices.join(", "))
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
pub(super) fn number(limit: &Value) -> String {
    let text = limit.to_string();
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A bound as an integer.
fn whole(limit: &Value) -> Option<Value> {
    serde_json::from_str(&number(limit)).ok()
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

/// Path of the field `name` of the object at `path`.
fn child_path(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

/// Converts a path such as `spec.variants[0].name` to the JSON pointer `/spec/variants/0/name`.
pub(crate) fn pointer(path: &str) -> String {
    format!("/{}", path.replace(['.', '['], "/").replace(']', ""))
}

/// Converts a JSON pointer such as `/spec/variants/0/name` to `spec.variants[0].name`.
pub(super) fn dotted_path(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
        } else {
            path = child_path(&path, &part);
        }
    }
    path
}
