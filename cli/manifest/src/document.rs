//! Converts one document to a `BenchmarkRun`: checks its kind and version, then deserializes every field. Performs no
//! I/O.

use campaign::validate::check_name;
use crds::names::{GROUP, KIND, VERSION};
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use super::Defect;

/// Top-level fields of a document.
const FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// Checks the top-level fields of `value`, including kind and version, and removes the status, which objects exported
/// from a cluster contain.
pub(super) fn check_top_level(value: &mut Value) -> Result<(), Defect> {
    let Value::Object(map) = value else {
        return Err(Defect::file(
            "a document must be an object with apiVersion, kind, metadata and spec",
        ));
    };
    expect(map, "apiVersion", &format!("{GROUP}/{VERSION}"))?;
    expect(map, "kind", KIND)?;
    if let Some(field) = map.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        return Err(Defect::field(
            field.clone(),
            format!("unknown field; expected one of {}", FIELDS.join(", ")),
        ));
    }
    if !map.contains_key("spec") {
        return Err(Defect::field(
            "spec",
            "is missing; specify what to compare (see examples/demo.yaml for an example)",
        ));
    }
    match map.get("metadata") {
        None | Some(Value::Null) => {
            return Err(Defect::field(
                "metadata",
                "is missing; give the run a name: metadata: {name: NAME}",
            ));
        }
        Some(Value::Object(_)) => {}
        Some(_) => {
            return Err(Defect::field(
                "metadata",
                "is not an object; set it to {name: NAME}",
            ));
        }
    }
    map.remove("status");
    Ok(())
}

/// Converts `value` to a `BenchmarkRun`.
pub(super) fn benchmark_run(value: Value) -> Result<BenchmarkRun, Defect> {
    let run: BenchmarkRun = deserialize(value, "")?;
    let name = run.metadata.name.as_deref();
    let name = name.ok_or_else(|| Defect::field("metadata.name", "is missing; give the run a name"))?;
    // This check runs before the schema's rule for names, because that rule's message omits some requirements.
    check_name(name).map_err(|problem| Defect::field("metadata.name", problem.to_string()))?;
    Ok(BenchmarkRun {
        status: None::<BenchmarkRunStatus>,
        ..run
    })
}

/// Deserializes `value`. The field path in an error starts with `root`.
pub(super) fn deserialize<T: DeserializeOwned>(value: Value, root: &str) -> Result<T, Defect> {
    serde_path_to_error::deserialize(&value).map_err(|error| {
        let path = error.path().to_string();
        let path = match (root, path.as_str()) {
            ("", path) => path.to_owned(),
            (root, ".") => root.to_owned(),
            (root, path) => format!("{root}.{path}"),
        };
        let fields = fields_at(&value, error.path());
        Defect::field(path, describe_error(error.inner().to_string(), fields))
    })
}

/// Names of the fields of the object at `path` in `value`; `None` if there is no object.
fn fields_at<'a>(value: &'a Value, path: &Path) -> Option<Vec<&'a str>> {
    let found = path.iter().try_fold(value, |value, segment| match segment {
        Segment::Map { key } | Segment::Enum { variant: key } => value.get(key),
        Segment::Seq { index } => value.get(index),
        Segment::Unknown => None,
    });
    Some(found?.as_object()?.keys().map(String::as_str).collect())
}

/// Replaces serde's description of an object of which exactly one field must be set. `fields` are the fields of the
/// object, if they are known.
fn describe_error(message: String, fields: Option<Vec<&str>>) -> String {
    if message != "invalid value: map, expected map with a single key" {
        return message;
    }
    let found = match fields {
        None => String::new(),
        Some(fields) if fields.is_empty() => ", but none is".to_owned(),
        Some(fields) => format!(", but there are {}", fields.join(" and ")),
    };
    format!("exactly one field must be set{found}")
}

/// Checks that `field` has the value `expected`.
fn expect(map: &serde_json::Map<String, Value>, field: &str, expected: &str) -> Result<(), Defect> {
    match map.get(field) {
        Some(Value::String(text)) if text == expected => Ok(()),
        Some(other) => {
            let given: String = other.to_string().chars().take(80).collect();
            Err(Defect::field(
                field,
                format!("{given} is not supported; use {expected}"),
            ))
        }
        None => Err(Defect::field(field, format!("is missing; set it to {expected}"))),
    }
}
