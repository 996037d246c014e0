//! Reads the invalid manifests in `cli/manifest/bad_manifests.yaml`.

use std::path::Path;

use serde::Deserialize;
use serde_yaml::{Mapping, Value};

/// An invalid manifest with the error that it must cause.
#[derive(Debug)]
pub struct BadManifest {
    /// Name of the case, unique.
    pub name: String,
    /// Content of the manifest.
    pub text: String,
    /// Path of the invalid field; empty if the defect concerns the document or the file.
    pub path: String,
    /// Part of the error message.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    base: Value,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    patch: Option<Value>,
    #[serde(default)]
    text: Option<String>,
    path: String,
    message: String,
}

/// Reads all cases. Panics if the file is invalid, which a test reports.
pub fn bad_manifests() -> Vec<BadManifest> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cli/manifest/bad_manifests.yaml");
    let content =
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file: File =
        serde_yaml::from_str(&content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = |case: &Case| match (&case.patch, &case.text) {
        (Some(patch), None) => serde_yaml::to_string(&merged(file.base.clone(), patch)).unwrap(),
        (None, Some(text)) => text.clone(),
        _ => panic!("{}: exactly one of patch and text must be set", case.name),
    };
    let cases: Vec<_> = file
        .cases
        .iter()
        .map(|case| BadManifest {
            name: case.name.clone(),
            text: text(case),
            path: case.path.clone(),
            message: case.message.clone(),
        })
        .collect();
    let names: std::collections::BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len(), "two cases have the same name");
    cases
}

/// Applies a JSON merge patch (RFC 7396, section 2).
fn merged(target: Value, patch: &Value) -> Value {
    let Value::Mapping(patch) = patch else {
        return patch.clone();
    };
    let mut target = match target {
        Value::Mapping(target) => target,
        _ => Mapping::new(),
    };
    for (key, value) in patch {
        match value {
            Value::Null => {
                target.remove(key);
            }
            value => {
                let before = target.remove(key).unwrap_or_default();
                target.insert(key.clone(), merged(before, value));
            }
        }
    }
    Value::Mapping(target)
}
