//! A document in which values that violate the schema are replaced, so that further problems can be found. It serves only
//! to report more problems at once: a document with a defect is never used. Performs no I/O.

use serde_json::{Value, json};

use super::schema::{Repair, SchemaRules, Unit, Violation, pointer};

/// A document with repairs.
pub(super) struct Repaired {
    /// The document.
    pub(super) value: Value,
    /// Renamed fields: the path in `value`, and the path in the file.
    renamed: Vec<(String, String)>,
    /// Paths at which it is unclear what the user meant.
    uncertain: Vec<String>,
}

impl Repaired {
    /// A document without repairs.
    pub(super) fn new(value: Value) -> Self {
        Self {
            value,
            renamed: Vec::new(),
            uncertain: Vec::new(),
        }
    }

    /// Repairs a violation. Returns whether the document has changed.
    pub(super) fn repair(&mut self, violation: Violation) -> bool {
        let Violation {
            pointer,
            defect,
            repair,
            ..
        } = violation;
        let path = defect.path.unwrap_or_default();
        let is_certain = matches!(repair, Some(Repair::Rename { .. } | Repair::Meant(_)));
        if !is_certain {
            self.uncertain.push(path.clone());
        }
        let Some(value) = self.value.pointer_mut(&pointer) else {
            return false;
        };
        match (repair, value) {
            (Some(Repair::Rename { from, to }), Value::Object(fields)) => {
                let Some(field) = fields.remove(&from) else {
                    return false;
                };
                let parent = path.strip_suffix(from.as_str()).unwrap_or_default();
                self.renamed.push((format!("{parent}{to}"), path.clone()));
                fields.insert(to, field);
            }
            (Some(Repair::RemoveField(field)), Value::Object(fields)) => {
                return fields.remove(&field).is_some();
            }
            (Some(Repair::Meant(meant) | Repair::Replace(meant)), value) => *value = meant,
            _ => return false,
        }
        true
    }

    /// Replaces the value at `path`, which cannot be read, with one that its schema allows. Returns whether the document
    /// has changed.
    pub(super) fn substitute(&mut self, path: &str, rules: &SchemaRules) -> bool {
        self.uncertain.push(path.to_owned());
        let pointer = pointer(path);
        let (Some(value), Some(unit)) = (self.value.pointer_mut(&pointer), rules.unit_at(&pointer)) else {
            return false;
        };
        let substitute = match unit {
            Unit::Bytes => json!(64),
            Unit::Time => json!("1s"),
        };
        let has_changed = *value != substitute;
        *value = substitute;
        has_changed
    }

    /// The path in the file of the field that has this path in the repaired document.
    pub(super) fn path_in_file(&self, path: &str) -> String {
        let renamed = self.renamed.iter().rev();
        renamed.fold(path.to_owned(), |path, (to, from)| {
            match path.strip_prefix(to.as_str()) {
                Some(rest) if rest.is_empty() || rest.starts_with(['.', '[']) => format!("{from}{rest}"),
                _ => path,
            }
        })
    }

    /// Whether the meaning of a field of the object at `path` is unclear.
    pub(super) fn is_unclear_below(&self, path: &str) -> bool {
        let is_field = |uncertain: &String| {
            uncertain
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with('.') && !rest.contains('['))
        };
        self.uncertain.iter().any(is_field)
    }

    /// Whether the name of a variant or a scenario is unclear, so that a reference to it may be correct.
    pub(super) fn may_rename(&self) -> bool {
        self.uncertain.iter().any(|path| {
            let is_list = path == "spec.variants" || path == "spec.scenarios";
            is_list || path.ends_with("].name") || section(path) == path && path.ends_with(']')
        })
    }

    /// Whether a problem at `path` may be the consequence of a value whose meaning is unclear: one in the same variant,
    /// scenario or section. Expectations depend on all others.
    pub(super) fn may_be_a_consequence(&self, path: &str) -> bool {
        let is_related = |uncertain: &String| {
            let (one, other) = (section(uncertain), section(path));
            one == other
                || other.starts_with("spec.expectations")
                || !one.starts_with("spec.")
                || one == "spec"
        };
        self.uncertain.iter().any(is_related)
    }
}

/// The part of a path that identifies a variant, a scenario, or a section of the spec, such as `spec.scenarios[1]`.
fn section(path: &str) -> &str {
    let fields = path.match_indices('.').nth(1);
    fields.map_or(path, |(end, _)| path.split_at(end).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_variants_and_scenarios() {
        assert_eq!(
            section("spec.scenarios[1].pingPong.sizes[0]"),
            "spec.scenarios[1]"
        );
        assert_eq!(section("spec.sampling.rounds"), "spec.sampling");
        assert_eq!(section("spec.baseline"), "spec.baseline");
        assert_eq!(section("metadata.name"), "metadata.name");
    }
}
