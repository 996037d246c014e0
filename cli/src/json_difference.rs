//! Finds the differences between two JSON values. Performs no I/O.

use serde_json::Value;

/// Value that differs between two JSON values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonDifference<'a> {
    /// Path of the value, such as `spec.sizes[1]`.
    pub path: String,
    /// The first value; `None` if it is unset or null.
    pub first: Option<&'a Value>,
    /// The second value; `None` if it is unset or null.
    pub second: Option<&'a Value>,
}

/// Returns the values below `path` that differ between `first` and `second`, in the order of `first`. Objects and arrays
/// are compared item by item.
pub(crate) fn json_differences<'a>(
    path: &str,
    first: &'a Value,
    second: &'a Value,
) -> Vec<JsonDifference<'a>> {
    let mut found = Vec::new();
    collect(path.to_owned(), Some(first), Some(second), &mut found);
    found
}

fn collect<'a>(
    path: String,
    first: Option<&'a Value>,
    second: Option<&'a Value>,
    found: &mut Vec<JsonDifference<'a>>,
) {
    let is_set = |value: &&Value| !value.is_null();
    match (first.filter(is_set), second.filter(is_set)) {
        (first, second) if first == second => {}
        (Some(Value::Object(first)), Some(Value::Object(second))) => {
            let added = second.keys().filter(|key| !first.contains_key(*key));
            for key in first.keys().chain(added) {
                collect(format!("{path}.{key}"), first.get(key), second.get(key), found);
            }
        }
        (Some(Value::Array(first)), Some(Value::Array(second))) => {
            for index in 0..first.len().max(second.len()) {
                let path = format!("{path}[{index}]");
                collect(path, first.get(index), second.get(index), found);
            }
        }
        (first, second) => found.push(JsonDifference { path, first, second }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_every_difference() {
        let first = json!({"a": [{"p50": 1}, {"p50": 2}], "b": null, "c": 1});
        let second = json!({"a": [{"p50": 1}, {"p50": 3}, 4], "d": "x"});
        let found = json_differences("results", &first, &second);
        let paths: Vec<&str> = found.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(
            paths,
            ["results.a[1].p50", "results.a[2]", "results.c", "results.d"]
        );
        assert_eq!((found[1].first, found[1].second), (None, Some(&json!(4))));
        assert_eq!(json_differences("results", &first, &first), []);
    }
}
