//! Explains the fields of the resource, from the schema of its definition. Performs no I/O.

use serde_json::Value;

use super::schema::{alternatives, fields, kind, parents_of, required, resource, yaml};

/// Field of the resource.
#[derive(Debug)]
pub struct Field {
    /// Path from the root of the resource. Lists end with `[]`, except for the last part.
    path: String,
    schema: &'static Value,
}

/// Part of a path that is not a field.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// Path of the object that lacks the field. `None` if the first part of the path is not a field.
    pub object: Option<String>,
    /// Part of the path.
    pub name: String,
    /// Fields that the path may contain in place of this part.
    pub known: Vec<&'static str>,
    /// Paths of up to two other fields of the spec with this name.
    pub elsewhere: Vec<String>,
}

impl Field {
    /// Finds the field at `path`, such as `spec.variants[].inject`. The start `spec.` and the index of a list may be
    /// omitted.
    ///
    /// # Errors
    /// Returns the first part of the path that is not a field.
    pub fn find(path: &str) -> Result<Self, UnknownField> {
        let root = resource();
        let spec = child(root, "spec").unwrap_or(&Value::Null);
        let parts: Vec<&str> = path
            .trim_start_matches('.')
            .split('.')
            .map(without_index)
            .collect();
        let is_absolute = parts.first().is_some_and(|first| child(root, first).is_some());
        let mut found = match is_absolute {
            true => Self {
                path: String::new(),
                schema: root,
            },
            false => Self {
                path: "spec".to_owned(),
                schema: spec,
            },
        };
        for (position, name) in parts.into_iter().enumerate() {
            let Some(schema) = child(found.schema, name) else {
                let mut known = fields(item(found.schema));
                if position == 0 {
                    known.extend(fields(root));
                }
                return Err(UnknownField {
                    object: (position > 0).then(|| found.object_path()),
                    name: name.to_owned(),
                    known,
                    elsewhere: parents_of(spec, "spec", name)
                        .into_iter()
                        .map(|object| format!("{object}.{name}"))
                        .collect(),
                });
            };
            let path = match found.path.as_str() {
                "" => name.to_owned(),
                _ => format!("{}.{name}", found.object_path()),
            };
            found = Self { path, schema };
        }
        Ok(found)
    }

    /// Path of the object whose fields the field contains: itself or, for a list, an item.
    fn object_path(&self) -> String {
        let index = self.schema.get("items").map_or("", |_| "[]");
        format!("{}{index}", self.path)
    }

    /// Text for a terminal: the description, type, default and rules of the field, and the fields one level below it.
    pub fn explain(&self) -> String {
        let object = item(self.schema);
        let mut lines = vec![
            format!("{}: {}", self.path, description(self.schema)),
            String::new(),
        ];
        lines.push(format!("type     {}", kind(self.schema)));
        if let Some(default) = self.schema.get("default") {
            lines.push(format!("default  {}", yaml(default)));
        }
        let choices = alternatives(object);
        if !choices.is_empty() {
            lines.push(format!(
                "rule     exactly one of {} must be set",
                choices.join(", ")
            ));
        }
        let rules = object.get("x-kubernetes-validations").and_then(Value::as_array);
        let messages = rules
            .into_iter()
            .flatten()
            .filter_map(|rule| rule.get("message")?.as_str());
        lines.extend(messages.map(|message| format!("rule     {message}")));
        let names = fields(object);
        if !names.is_empty() {
            lines.extend([String::new(), format!("Fields of {}:", self.object_path())]);
        }
        let width = names.iter().map(|name| name.len()).max().unwrap_or_default();
        let needed = required(object);
        for name in names {
            let description = child(object, name).map(description).unwrap_or_default();
            let (sentence, _) = description
                .split_once(". ")
                .unwrap_or((description.trim_end_matches('.'), ""));
            let needed = if needed.contains(&name) { " Required." } else { "" };
            lines.push(format!("  {name:<width$}  {sentence}.{needed}"));
        }
        lines.join("\n") + "\n"
    }
}

/// Part of a path without the index of a list, such as `[]`, `[0]` or `[*]`.
fn without_index(part: &str) -> &str {
    part.split_once('[').map_or(part, |(name, _)| name)
}

/// Schema of the items if `schema` is that of a list, and `schema` otherwise.
fn item(schema: &Value) -> &Value {
    schema.get("items").map_or(schema, item)
}

/// Schema of the field `name` of an object, of an item of a list, or of a map.
fn child<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let object = item(schema);
    let field = object.get("properties").and_then(|all| all.get(name));
    field.or_else(|| {
        object
            .get("additionalProperties")
            .filter(|inner| inner.is_object() && !name.is_empty())
    })
}

/// Description of a field on one line.
fn description(schema: &Value) -> String {
    let text = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explanation(path: &str) -> String {
        Field::find(path).unwrap().explain()
    }

    #[test]
    fn explains_type_default_bounds_values_rules_and_fields() {
        let text = explanation("spec.sampling.marginPercent");
        assert!(
            text.starts_with("spec.sampling.marginPercent: Equivalence margin, as a percentage"),
            "{text}"
        );
        assert!(
            text.ends_with("\n\ntype     an integer from 1 to 50\ndefault  2\n"),
            "{text}"
        );

        let text = explanation("spec.variants[].env");
        assert!(
            text.contains("\ntype     list of at most 32 items, each an object\n"),
            "{text}"
        );
        assert!(
            text.contains(
                "\n\nFields of spec.variants[].env[]:\n  name   Name of the environment variable. Required.\n"
            ),
            "{text}"
        );

        let text = explanation("spec.transport");
        assert!(
            text.contains("\nrule     exactly one of loopback, libfabric, ucx, nixl, verbs must be set\n"),
            "{text}"
        );
        for (path, expected) in [
            ("spec.sampling.stop", "type     one of Fixed, Settled\n"),
            (
                "spec.variants[].inject.maxBytes",
                "type     a size such as 64, 32Ki or 1Mi\n",
            ),
            (
                "spec.sampling.minWindow",
                "type     a duration such as 500ms or 10s\ndefault  \"20ms\"\n",
            ),
            ("spec.sampling.control", "type     true or false\ndefault  true\n"),
            (
                "spec.resources.extended",
                "type     object of at most 8 names of your choice, each value an integer from 1 to 1024\n",
            ),
            (
                "spec.factors",
                "rule     at least two of inject, doorbell and coalesce must be set",
            ),
            ("kind", "type     one of BenchmarkRun\n"),
            ("metadata.name", " of 1 to 52 characters\n"),
        ] {
            let text = explanation(path);
            assert!(text.contains(expected), "{path}: {text}");
        }
    }

    #[test]
    fn the_start_spec_and_the_indexes_of_lists_may_be_omitted() {
        let expected = explanation("spec.variants[].inject.maxBytes");
        for path in [
            "variants[].inject.maxBytes",
            "variants.inject.maxBytes",
            ".spec.variants[*].inject.maxBytes",
            "spec.variants[0].inject.maxBytes",
        ] {
            assert_eq!(explanation(path), expected, "{path}");
        }
    }

    #[test]
    fn every_field_has_an_explanation_and_a_type() {
        let mut unclear = Vec::new();
        let mut paths: Vec<String> = fields(resource()).into_iter().map(str::to_owned).collect();
        let mut count = 0;
        while let Some(path) = paths.pop() {
            let field = Field::find(&path).unwrap();
            let object = field.object_path();
            paths.extend(
                fields(item(field.schema))
                    .into_iter()
                    .map(|name| format!("{object}.{name}")),
            );
            let is_spec = path.starts_with("spec");
            if description(field.schema).is_empty() || (is_spec && kind(field.schema).starts_with("a value"))
            {
                unclear.push(path);
            }
            count += 1;
        }
        assert!(count > 200, "{count}");
        // A number or a list of numbers.
        assert_eq!(unclear, ["spec.scenarios[].memoryFootprint.consumers"]);
    }

    #[test]
    fn unknown_fields_are_described() {
        let unknown = Field::find("spec.sampling.inject.maxBytes").unwrap_err();
        assert_eq!(unknown.object.as_deref(), Some("spec.sampling"));
        assert_eq!(unknown.name, "inject");
        assert!(unknown.known.contains(&"rounds"), "{unknown:?}");
        assert_eq!(
            unknown.elsewhere,
            ["spec.factors.inject", "spec.variants[].inject"]
        );
        let unknown = Field::find("metdata").unwrap_err();
        assert_eq!(unknown.object, None);
        assert!(
            unknown.known.contains(&"metadata") && unknown.known.contains(&"variants"),
            "{unknown:?}"
        );
    }
}
