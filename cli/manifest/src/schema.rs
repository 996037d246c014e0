//! Validates a run the way the API server does: with the OpenAPI schema (types, bounds, patterns) and the CEL rules of
//! the generated CustomResourceDefinition. Performs no I/O.

mod kind;
mod lookup;
mod patterns;
mod shape;
mod violation;

use std::sync::LazyLock;

use crds::json_schema;
use crds::v1alpha1::BenchmarkRun;
use jsonschema::Validator as Bounds;
use kube::core::cel::{ValidationError as CelError, Validator as Cel};
use serde_json::{Map, Value};

use super::Defect;
use super::error::DefectKind;
pub(super) use kind::kind;
pub(super) use lookup::{alternatives, fields, parents_of, required};
pub(super) use patterns::Unit;
pub use shape::yaml;
pub(super) use violation::{Repair, Violation, pointer};

/// Compiled schema of the `BenchmarkRun` resource.
pub(super) struct SchemaRules {
    schema: Value,
    bounds: Bounds,
}

impl SchemaRules {
    /// Returns the compiled schema of the `BenchmarkRun` resource. It is compiled only once, because compiling it takes
    /// longer than validating a run.
    ///
    /// # Errors
    /// Returns an error if the schema is invalid, which is a programming error.
    pub(super) fn compiled() -> Result<&'static Self, Defect> {
        static RULES: LazyLock<Result<SchemaRules, Defect>> = LazyLock::new(SchemaRules::compile);
        RULES.as_ref().map_err(Clone::clone)
    }

    fn compile() -> Result<Self, Defect> {
        let invalid =
            |error: String| Defect::file(format!("internal error: invalid BenchmarkRun schema: {error}"));
        let schema = json_schema::definition();
        let mut plain = json_schema::from_definition(schema.clone());
        // The top-level fields are checked before, because the schema contains neither the version nor the metadata.
        if let Some(document) = plain.as_object_mut() {
            document.remove("additionalProperties");
        }
        let bounds = jsonschema::options()
            .build(&plain)
            .map_err(|error| invalid(error.to_string()))?;
        Ok(Self { schema, bounds })
    }

    /// Returns all violations of the types, bounds, patterns and names of the schema in a document. Deserialization is not
    /// sufficient, because it stops at the first error, accepts a list in place of an object, which the API server
    /// rejects, and describes violations in terms of Rust types.
    pub(super) fn violations(&self, document: &Value) -> Vec<Violation> {
        let errors = self.bounds.iter_errors(document);
        let mut violations: Vec<_> = errors
            .flat_map(|error| violation::violations(&error, &self.schema))
            .collect();
        remove_consequences(&mut violations);
        violations
    }

    /// Unit of the field at the JSON pointer `pointer`; `None` if the field is neither a size nor a duration.
    pub(super) fn unit_at(&self, pointer: &str) -> Option<Unit> {
        patterns::unit(lookup::schema_at(&self.schema, pointer)?)
    }

    /// Checks the rules between the fields of `run`, in which default values are already set.
    ///
    /// # Errors
    /// Returns one defect for each violated rule, with the path of its field.
    pub(super) fn check(&self, run: &BenchmarkRun) -> Result<(), Vec<Defect>> {
        let value = serde_json::to_value(run).map_err(|error| vec![Defect::file(error.to_string())])?;
        let violations = self.violations(&value);
        if !violations.is_empty() {
            return Err(violations.into_iter().map(|violation| violation.defect).collect());
        }
        // CEL rules may rely on the bounds, so they are evaluated second, as in the API server.
        Cel::new().validate(&self.schema, &value, None).map_err(|errors| {
            let defects = errors.into_vec().into_iter();
            defects.map(|error| violated_rule(error, &value)).collect()
        })
    }
}

/// Schema of the resource, with the fields that all resources have.
pub(super) fn resource() -> &'static Value {
    static RESOURCE: LazyLock<Value> = LazyLock::new(json_schema::resource);
    &RESOURCE
}

/// Removes violations that follow from others: a field is missing because its name is misspelled, and a value of the wrong
/// type is also none of the options.
fn remove_consequences(violations: &mut Vec<Violation>) {
    let renamed: Vec<(String, String)> = violations
        .iter()
        .filter_map(|violation| match &violation.repair {
            Some(Repair::Rename { to, .. }) => Some((violation.pointer.clone(), to.clone())),
            _ => None,
        })
        .collect();
    let is_renamed = |pointer: &str, field: &str| renamed.iter().any(|(at, to)| at == pointer && to == field);
    let with_unknown_field: Vec<String> = violations
        .iter()
        .filter(|violation| {
            matches!(
                violation.repair,
                Some(Repair::Rename { .. } | Repair::RemoveField(_))
            )
        })
        .map(|violation| violation.pointer.clone())
        .collect();
    let mut described = Vec::new();
    violations.retain(|violation| {
        if let Some(field) = &violation.missing {
            return !is_renamed(&violation.pointer, field);
        }
        let is_first = !described.contains(&violation.defect.path);
        described.push(violation.defect.path.clone());
        let is_rule_of_misspelled = violation.repair.is_none()
            && violation.defect.kind == DefectKind::NoAlternative
            && with_unknown_field.contains(&violation.pointer);
        is_first && !is_rule_of_misspelled
    });
}

/// A rule that `run` violates: its message with the value of the field or, for an object, with the fields that are set
/// although the rule allows only some of them.
fn violated_rule(error: CelError, run: &Value) -> Defect {
    let CelError {
        field_path: path,
        message,
        rule,
        ..
    } = error;
    // The schema has no metadata fields, so the message of a metadata rule names the field.
    if path.is_empty() {
        return Defect::file(message);
    }
    let given = match run.pointer(&pointer(&path)) {
        Some(value @ (Value::String(_) | Value::Number(_))) => format!(" (the value is {value})"),
        Some(Value::Object(fields)) => match fields_of_rule(&rule, fields).as_slice() {
            [] => String::new(),
            set => format!(" (set: {})", set.join(", ")),
        },
        _ => String::new(),
    };
    Defect::field(path, format!("{message}{given}"))
}

/// Fields of an object that are set and whose presence a rule tests with the macro `has` of CEL, with their values if
/// these are short.
fn fields_of_rule(rule: &str, object: &Map<String, Value>) -> Vec<String> {
    let tests = rule.split("has(self.").skip(1);
    let names = tests.filter_map(|test| test.split_once(')').map(|(name, _)| name));
    let mut set = Vec::new();
    for name in names {
        let text = match object.get(name) {
            None => continue,
            Some(value @ (Value::String(_) | Value::Number(_))) => format!("{name}: {value}"),
            Some(_) => name.to_owned(),
        };
        if !set.contains(&text) {
            set.push(text);
        }
    }
    set
}
