//! One document as a `BenchmarkRun`: kind and version first, then every field by its type.

use crds::names::{GROUP, KIND, VERSION};
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Fault;
use crate::campaign::validate::check_name;

/// Fields that a document may have beside the spec.
const FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// Checks that `value` is a `BenchmarkRun` of this version, as far as its outermost fields tell, and drops the status
/// that a file from a cluster has.
pub(super) fn check_head(value: &mut Value) -> Result<(), Fault> {
    let Value::Object(map) = value else {
        return Err(Fault::file(
            "a document must be an object with apiVersion, kind, metadata and spec",
        ));
    };
    expect(map, "apiVersion", &format!("{GROUP}/{VERSION}"))?;
    expect(map, "kind", KIND)?;
    if let Some(field) = map.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        return Err(Fault::field(
            field.clone(),
            format!("unknown field. There are {}", FIELDS.join(", ")),
        ));
    }
    if !map.contains_key("spec") {
        return Err(Fault::field(
            "spec",
            "is missing. Say what to compare, for example as in examples/demo.yaml",
        ));
    }
    map.remove("status");
    Ok(())
}

/// `value` as a `BenchmarkRun`.
pub(super) fn benchmark_run(value: Value) -> Result<BenchmarkRun, Fault> {
    let run: BenchmarkRun = typed(value, "")?;
    let name = run.metadata.name.as_deref();
    let name = name.ok_or_else(|| Fault::field("metadata.name", "is missing. Give the run a name"))?;
    // Before the schema's own rule, which can only name a part of it.
    check_name(name).map_err(|problem| Fault::field("metadata.name", problem.to_string()))?;
    Ok(BenchmarkRun {
        status: None::<BenchmarkRunStatus>,
        ..run
    })
}

/// `value` as a `T`; the path in an error begins with `root`.
pub(super) fn typed<T: DeserializeOwned>(value: Value, root: &str) -> Result<T, Fault> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let path = match (root, path.as_str()) {
            ("", path) => path.to_owned(),
            (root, ".") => root.to_owned(),
            (root, path) => format!("{root}.{path}"),
        };
        Fault::field(path, error.into_inner().to_string())
    })
}

fn expect(map: &serde_json::Map<String, Value>, field: &str, wanted: &str) -> Result<(), Fault> {
    match map.get(field) {
        Some(Value::String(text)) if text == wanted => Ok(()),
        Some(other) => {
            let given: String = other.to_string().chars().take(80).collect();
            Err(Fault::field(
                field,
                format!("{given} is not read here. Write {wanted}"),
            ))
        }
        None => Err(Fault::field(field, format!("is missing. Write {wanted}"))),
    }
}
