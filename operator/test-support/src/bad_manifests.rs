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
    groups: Vec<Group>,
    texts: Vec<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    patch: Value,
    /// Lists of [`Case`] by path. A mapping of serde_yaml refuses a path that occurs twice.
    fields: Mapping,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    value: Value,
    #[serde(default)]
    set: Mapping,
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    path: String,
    message: String,
    text: String,
}

fn file() -> File {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cli/manifest/bad_manifests.yaml");
    let content =
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_yaml::from_str(&content).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The valid manifests to which the cases of each group add a defect. Panics if the file is invalid, which a test reports.
pub fn valid_manifests() -> Vec<String> {
    let File { base, groups, .. } = file();
    let manifests = groups.iter().map(|group| merged(base.clone(), &group.patch));
    manifests
        .map(|manifest| serde_yaml::to_string(&manifest).unwrap())
        .collect()
}

/// Reads all cases. Panics if the file is invalid, which a test reports.
pub fn bad_manifests() -> Vec<BadManifest> {
    let File { base, groups, texts } = file();
    let mut cases = Vec::new();
    for group in groups {
        let base = merged(base.clone(), &group.patch);
        for (path, rows) in group.fields {
            let path = path.as_str().expect("a path is a string").to_owned();
            let rows: Vec<Case> =
                serde_yaml::from_value(rows).unwrap_or_else(|error| panic!("{path}: {error}"));
            for Case {
                name,
                value,
                mut set,
                message,
            } in rows
            {
                if set.is_empty() {
                    set.insert(path.clone().into(), value);
                }
                let mut manifest = base.clone();
                for (path, value) in set {
                    put(&mut manifest, path.as_str().expect("a path is a string"), value);
                }
                let text = serde_yaml::to_string(&manifest).unwrap();
                cases.push(BadManifest {
                    name,
                    text,
                    path: path.clone(),
                    message,
                });
            }
        }
    }
    cases.extend(texts.into_iter().map(
        |Text {
             name,
             path,
             message,
             text,
         }| BadManifest {
            name,
            text,
            path,
            message,
        },
    ));
    let names: std::collections::BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len(), "two cases have the same name");
    cases
}

/// Sets the field at `path`, such as `spec.scenarios[0].name`, or removes it if `value` is null. Missing parents are added, and
/// an index that equals the length of its list adds an item.
fn put(target: &mut Value, path: &str, value: Value) {
    let mut place = target;
    let mut steps = path.split(['.', '[']).peekable();
    while let Some(step) = steps.next() {
        if let Some(index) = step.strip_suffix(']') {
            let list = place
                .as_sequence_mut()
                .unwrap_or_else(|| panic!("{path}: no list has [{index}]"));
            let index: usize = index.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
            if index == list.len() {
                list.push(Value::Null);
            }
            place = &mut list[index];
            continue;
        }
        if place.is_null() {
            *place = Mapping::new().into();
        }
        let fields = place
            .as_mapping_mut()
            .unwrap_or_else(|| panic!("{path}: no mapping has {step}"));
        if steps.peek().is_none() && value.is_null() {
            fields.remove(step);
            return;
        }
        place = fields.entry(step.into()).or_insert(Value::Null);
    }
    *place = value;
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
