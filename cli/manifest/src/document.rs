//! Converts one document to a `BenchmarkRun`: checks its kind and version, then deserializes every field. Performs no
//! I/O.

use campaign::validate::check_name;
use crds::deserialization::{from_value, unknown_field};
use crds::names::{GROUP, KIND, VERSION};
use crds::suggestion::nearest;
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus};
use serde_json::{Value, json};

use super::Defect;

/// Top-level fields of a document.
const FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// Checks the top-level fields of `value`, including kind and version, and removes the status, which objects exported
/// from a cluster contain, and unknown fields. Returns the defects.
pub(super) fn check_top_level(value: &mut Value) -> Vec<Defect> {
    let Value::Object(map) = value else {
        return vec![Defect::file(
            "a document must be an object with apiVersion, kind, metadata and spec",
        )];
    };
    let mut defects = Vec::new();
    let unknown: Vec<String> = map
        .keys()
        .filter(|field| !FIELDS.contains(&field.as_str()))
        .cloned()
        .collect();
    for field in unknown {
        defects.push(Defect::field(&field, unknown_field(&field, &FIELDS)));
        let value = map.remove(&field).unwrap_or_default();
        if let Some(meant) = nearest(&field, FIELDS)
            && !map.contains_key(meant)
        {
            map.insert(meant.to_owned(), value);
        }
    }
    defects.extend(expect(map, "apiVersion", &format!("{GROUP}/{VERSION}")));
    defects.extend(expect(map, "kind", KIND));
    if !map.contains_key("spec") {
        defects.push(Defect::field(
            "spec",
            "is missing; specify what to compare (see examples/demo.yaml for an example)",
        ));
    }
    match map.get("metadata") {
        None | Some(Value::Null) => defects.push(Defect::field(
            "metadata",
            "is missing; give the run a name: metadata: {name: NAME}",
        )),
        Some(Value::Object(_)) => {}
        Some(_) => defects.push(Defect::field(
            "metadata",
            "is not an object; write `metadata: {name: NAME}`",
        )),
    }
    map.remove("status");
    defects
}

/// Name of a run whose own name is missing or invalid, while its other fields are checked.
const PLACEHOLDER_NAME: &str = "unnamed";

/// Converts `value` to a `BenchmarkRun`.
pub(super) fn benchmark_run(mut value: Value) -> Result<BenchmarkRun, Defect> {
    if !value.get("metadata").is_some_and(Value::is_object) {
        // The defect of the metadata has already been reported.
        value["metadata"] = json!({"name": PLACEHOLDER_NAME});
    }
    let run: BenchmarkRun = from_value(&value)?;
    Ok(BenchmarkRun {
        status: None::<BenchmarkRunStatus>,
        ..run
    })
}

/// Checks the name of `run`. This check runs before the schema's rule for names, because that rule's message omits some
/// requirements. Replaces a name that is missing or invalid.
pub(super) fn check_run_name(run: &mut BenchmarkRun) -> Option<Defect> {
    let message = match run.metadata.name.as_deref() {
        None => "is missing; give the run a name".to_owned(),
        Some(name) => check_name(name).err()?,
    };
    run.metadata.name = Some(PLACEHOLDER_NAME.to_owned());
    Some(Defect::field("metadata.name", message))
}

/// Whether the document is another resource, so that only its kind is worth reporting.
pub(super) fn is_another_resource(value: &Value) -> bool {
    let kind = value.get("kind").and_then(Value::as_str);
    kind.is_some_and(|kind| kind != KIND && nearest(kind, [KIND]).is_none())
}

/// Returns a defect if `field` does not have the value `expected`.
fn expect(map: &serde_json::Map<String, Value>, field: &str, expected: &str) -> Option<Defect> {
    match map.get(field) {
        Some(Value::String(text)) if text == expected => None,
        Some(other) => {
            let given: String = other.to_string().chars().take(80).collect();
            Some(Defect::field(
                field,
                format!("{given} is not supported; use {expected}"),
            ))
        }
        None => Some(Defect::field(field, format!("is missing; set it to {expected}"))),
    }
}
