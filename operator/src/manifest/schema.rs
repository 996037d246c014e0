//! The rules of the schema, checked as the API server checks them: bounds and patterns by its OpenAPI part, the rest by
//! its CEL expressions, both taken from the generated resource definition.

use crds::v1alpha1::BenchmarkRun;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError as BoundsError, Validator as Bounds};
use kube::CustomResourceExt;
use kube::core::cel::{ValidationError as CelError, Validator as Cel};
use serde_json::{Value, json};

use super::Fault;

/// The rules, ready to be checked.
pub(super) struct SchemaRules {
    schema: Value,
    bounds: Bounds,
}

impl SchemaRules {
    /// The rules of the `BenchmarkRun` schema.
    pub(super) fn new() -> Result<Self, Fault> {
        let broken = |what: String| Fault::file(format!("the schema of this program is broken: {what}"));
        let definition = BenchmarkRun::crd();
        let schema = definition
            .spec
            .versions
            .first()
            .and_then(|version| version.schema.as_ref());
        let schema = schema.and_then(|schema| schema.open_api_v3_schema.as_ref());
        let schema = serde_json::to_value(schema).map_err(|error| broken(error.to_string()))?;
        let mut plain = schema.clone();
        plain_json_schema(&mut plain);
        let bounds = jsonschema::options()
            .build(&plain)
            .map_err(|error| broken(error.to_string()))?;
        Ok(Self { schema, bounds })
    }

    /// Checks that every value of a document is of the right type. The types of the program would also take a list for
    /// an object, and the API server would not.
    ///
    /// # Errors
    /// Every value of another type, with the path of the field.
    pub(super) fn check_types(&self, document: &Value) -> Result<(), Vec<Fault>> {
        let errors = self.bounds.iter_errors(document);
        let faults: Vec<_> = errors
            .filter(|error| matches!(error.kind(), ValidationErrorKind::Type { .. }))
            .map(fault)
            .collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Checks `run`, defaults filled in.
    ///
    /// # Errors
    /// Every rule that is broken, with the path of the field.
    pub(super) fn check(&self, run: &BenchmarkRun) -> Result<(), Vec<Fault>> {
        let value = serde_json::to_value(run).map_err(|error| vec![Fault::file(error.to_string())])?;
        let faults: Vec<_> = self.bounds.iter_errors(&value).map(fault).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        // Rules may count on the bounds, so they come second, as in the API server.
        Cel::new().validate(&self.schema, &value, None).map_err(|errors| {
            let faults = errors.into_vec().into_iter();
            // The schema knows no field of the metadata, so rules on these name it in their message.
            let fault = |error: CelError| match error.field_path.as_str() {
                "" => Fault::file(error.message),
                path => Fault::field(path, error.message),
            };
            faults.map(fault).collect()
        })
    }
}

/// What is wrong, without a value that would fill the screen.
fn fault(error: BoundsError<'_>) -> Fault {
    const SHOWN_CHARS: usize = 60;
    let path = dotted(error.instance_path().as_str());
    let long = error.instance().to_string().chars().nth(SHOWN_CHARS).is_some();
    let what = if long {
        error.masked_with("it").to_string()
    } else {
        error.to_string()
    };
    Fault::field(path, what)
}

/// The words of Kubernetes for "integer or text" and "or nothing", as JSON Schema has them.
fn plain_json_schema(schema: &mut Value) {
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
            map.values_mut().for_each(plain_json_schema);
        }
        Value::Array(list) => list.iter_mut().for_each(plain_json_schema),
        _ => {}
    }
}

/// `/spec/variants/0/name` as `spec.variants[0].name`.
fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&part);
        }
    }
    path
}
