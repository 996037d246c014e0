//! Finds the schema of a field, and fields by name. Performs no I/O.

use serde_json::Value;

/// Maximum number of paths that [`parents_of`] returns.
const MAX_PATHS: usize = 2;

/// Schema of the value at the JSON pointer `pointer`; `None` if the schema has no such field.
pub(crate) fn schema_at<'a>(schema: &'a Value, pointer: &str) -> Option<&'a Value> {
    pointer.split('/').skip(1).try_fold(schema, |schema, part| {
        let part = part.replace("~1", "/").replace("~0", "~");
        let property = schema.get("properties").and_then(|all| all.get(&part));
        let other = || {
            schema
                .get("additionalProperties")
                .filter(|inner| inner.is_object())
        };
        match part.parse::<usize>() {
            Ok(_) if schema.get("items").is_some() => schema.get("items"),
            _ => property.or_else(other),
        }
    })
}

/// Names of the fields of an object with this schema.
pub(crate) fn fields(schema: &Value) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect()
}

/// Values of an enumeration.
pub(crate) fn options(schema: &Value) -> Vec<&str> {
    let options = schema.get("enum").and_then(Value::as_array);
    options.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Names of the required fields of an object with this schema.
pub(crate) fn required(schema: &Value) -> Vec<&str> {
    let required = schema.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Fields of which exactly one must be set; empty if the schema has no such rule.
pub(crate) fn alternatives(schema: &Value) -> Vec<&str> {
    let rules = schema.get("oneOf").and_then(Value::as_array);
    rules.into_iter().flatten().flat_map(required).collect()
}

/// Paths of up to two objects below `schema`, whose path is `path`, that have a field with this name. Items of lists have
/// no index. Objects near the root come first.
pub(crate) fn parents_of(schema: &Value, path: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = vec![(schema, path.to_owned())];
    while !next.is_empty() && found.len() < MAX_PATHS {
        let mut below = Vec::new();
        for (schema, path) in next {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (field, inner) in properties.into_iter().flatten() {
                if field == name {
                    found.push(path.clone());
                }
                match inner.get("items") {
                    Some(items) => below.push((items, format!("{path}.{field}[]"))),
                    None => below.push((inner, format!("{path}.{field}"))),
                }
            }
        }
        next = below;
    }
    found.truncate(MAX_PATHS);
    found
}
