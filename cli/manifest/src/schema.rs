//! Validates a run the way the API server does: with the OpenAPI schema (types, bounds, patterns) and the CEL rules of
//! the generated CustomResourceDefinition. Performs no I/O.

mod violation;

use std::sync::LazyLock;

use crds::v1alpha1::BenchmarkRun;
use jsonschema::Validator as Bounds;
use jsonschema::error::ValidationErrorKind as Kind;
use kube::CustomResourceExt;
use kube::core::cel::{ValidationError as CelError, Validator as Cel};
use serde_json::{Value, json};

use super::Defect;

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
        let definition = BenchmarkRun::crd();
        let schema = definition
            .spec
            .versions
            .first()
            .and_then(|version| version.schema.as_ref());
        let schema = schema.and_then(|schema| schema.open_api_v3_schema.as_ref());
        let schema = serde_json::to_value(schema).map_err(|error| invalid(error.to_string()))?;
        let mut plain = schema.clone();
        to_json_schema(&mut plain);
        let bounds = jsonschema::options()
            .build(&plain)
            .map_err(|error| invalid(error.to_string()))?;
        Ok(Self { schema, bounds })
    }

    /// Checks that every required field in a document is set, and the type and the range of every value. Deserialization
    /// is not sufficient, because it accepts a list in place of an object, which the API server rejects, and because it
    /// describes these violations in terms of Rust types.
    ///
    /// # Errors
    /// Returns one defect for each violation, with the path of its field.
    pub(super) fn check_values(&self, document: &Value) -> Result<(), Vec<Defect>> {
        let errors = self.bounds.iter_errors(document);
        let defects: Vec<_> = errors
            .filter(|error| {
                matches!(
                    error.kind(),
                    Kind::Type { .. } | Kind::Required { .. } | Kind::Minimum { .. } | Kind::Maximum { .. }
                )
            })
            .map(|error| violation::defect(&error))
            .collect();
        if defects.is_empty() { Ok(()) } else { Err(defects) }
    }

    /// Checks `run`, in which default values are already set.
    ///
    /// # Errors
    /// Returns one defect for each violated rule, with the path of its field.
    pub(super) fn check(&self, run: &BenchmarkRun) -> Result<(), Vec<Defect>> {
        let value = serde_json::to_value(run).map_err(|error| vec![Defect::file(error.to_string())])?;
        let errors = self.bounds.iter_errors(&value);
        let defects: Vec<_> = errors.map(|error| violation::defect(&error)).collect();
        if !defects.is_empty() {
            return Err(defects);
        }
        // CEL rules may rely on the bounds, so they are evaluated second, as in the API server.
        Cel::new().validate(&self.schema, &value, None).map_err(|errors| {
            let defects = errors.into_vec().into_iter();
            // The schema has no metadata fields, so the message of a metadata rule names the field.
            let defect = |error: CelError| match error.field_path.as_str() {
                "" => Defect::file(error.message),
                path => Defect::field(path, with_given_value(error.message, path, &value)),
            };
            defects.map(defect).collect()
        })
    }
}

/// Appends the value of the field `path` in `run` to the message of its rule, if it is a string or a number.
fn with_given_value(message: String, path: &str, run: &Value) -> String {
    let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
    match run.pointer(&pointer) {
        Some(given @ (Value::String(_) | Value::Number(_))) => format!("{message} (the value is {given})"),
        _ => message,
    }
}

/// Replaces `x-kubernetes-int-or-string` (a Kubernetes extension) and `nullable` (an OpenAPI keyword) with JSON Schema
/// types.
fn to_json_schema(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.remove("x-kubernetes-int-or-string").is_some() {
                map.insert("type".to_owned(), json!(["integer", "string"]));
            }
            if map.remove("nullable") == Some(Value::Bool(true))
                && let Some(kind) = map.get_mut("type")
            {
                let mut kinds = kind.as_array().cloned().unwrap_or_else(|| vec![kind.clone()]);
                kinds.push(json!("null"));
                *kind = Value::Array(kinds);
            }
            map.values_mut().for_each(to_json_schema);
        }
        Value::Array(list) => list.iter_mut().for_each(to_json_schema),
        _ => {}
    }
}
