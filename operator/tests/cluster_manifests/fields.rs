//! The fields of Kubernetes objects as a flat list, and the difference between two such lists.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::Value;

/// The values by path. An item of a list has the value of its first field of [`LABELS`] as index, as in
/// `containers[worker].image`, so that a new item does not change the paths of those that follow; the path of the list itself
/// has the order of the items.
pub type Fields = BTreeMap<String, String>;

/// Fields that identify the items of a list.
const LABELS: [&str; 3] = ["name", "key", "topologyKey"];

/// Lists the fields of `value`. `normal` replaces, in the text at a path, what differs between all runs.
pub fn fields(value: &Value, normal: &dyn Fn(&str, &str) -> String) -> Fields {
    let mut found = Fields::new();
    add(value, String::new(), normal, &mut found);
    found
}

fn add(value: &Value, path: String, normal: &dyn Fn(&str, &str) -> String, found: &mut Fields) {
    match value {
        Value::Mapping(mapping) if !mapping.is_empty() => {
            for (key, value) in mapping {
                let key = key.as_str().unwrap();
                let path = if path.is_empty() {
                    key.to_owned()
                } else {
                    format!("{path}.{key}")
                };
                add(value, path, normal, found);
            }
        }
        Value::Sequence(items) if items.iter().any(Value::is_mapping) => {
            let labels = labels(items);
            let named = labels
                .iter()
                .map(|label| normal(&path, label))
                .collect::<Vec<_>>();
            for (item, label) in items.iter().zip(&named) {
                let path = format!("{path}[{label}]");
                add(item, path.clone(), normal, found);
                // The index already has the name.
                let name = format!("{path}.name");
                if found
                    .get(&name)
                    .is_some_and(|name| name.trim_matches('"') == label)
                {
                    found.remove(&name);
                }
            }
            found.insert(path, format!("[{}]", named.join(", ")));
        }
        other => {
            let text = serde_json::to_string(other).unwrap();
            let text = normal(&path, &text);
            found.insert(path, text);
        }
    }
}

/// One index for each item: its label, or its position if a label is missing or not unique.
fn labels(items: &[Value]) -> Vec<String> {
    let with = |label: &str| {
        let labels: Option<Vec<String>> = items
            .iter()
            .map(|item| item.get(label)?.as_str().map(str::to_owned))
            .collect();
        labels.filter(|labels| labels.iter().collect::<BTreeSet<_>>().len() == items.len())
    };
    LABELS
        .iter()
        .find_map(|label| with(label))
        .unwrap_or_else(|| (0..items.len()).map(|index| index.to_string()).collect())
}

/// The lines that make `from` to `to`: `-` for a field that is absent in `to`, `+` for one that is absent in `from`, and `~` for
/// one with another value.
pub fn difference(from: &Fields, to: &Fields) -> String {
    let removed = from
        .keys()
        .filter(|path| !to.contains_key(*path))
        .map(|path| format!("- {path}\n"));
    let set = to.iter().filter_map(|(path, value)| match from.get(path) {
        Some(before) if before == value => None,
        before => Some(format!(
            "{} {path}: {value}\n",
            if before.is_some() { '~' } else { '+' }
        )),
    });
    removed.chain(set).collect()
}
