//! JSON Schema of the `BenchmarkRun` resource, derived from the schema of the custom resource definition. Performs no I/O.

use serde_json::{Value, json};

use crate::names::{GROUP, KIND, LABEL_PATTERN, LABEL_VALUE_PATTERN, MAX_RUN_NAME, VERSION};
use crate::v1alpha1;

/// Fields of the metadata that the API server or controllers set.
const OTHER_METADATA: [&str; 10] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// OpenAPI schema in the custom resource definition: the spec and the status, with the extensions of Kubernetes.
pub fn definition() -> Value {
    let definition = json!(v1alpha1::definition());
    let schema = definition.pointer("/spec/versions/0/schema/openAPIV3Schema");
    schema.cloned().unwrap_or_default()
}

/// [`definition`] with the fields that the API server adds to every resource.
pub fn resource() -> Value {
    let mut schema = definition();
    let mut metadata = json!({
        "description": "Name, namespace, labels and annotations of the run.",
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {
                "description": format!("Name of the run. Pods and directories are named after it, so it must be a DNS label of at \
                                        most {MAX_RUN_NAME} characters."),
                "type": "string",
                "pattern": LABEL_PATTERN,
                "minLength": 1,
                "maxLength": MAX_RUN_NAME,
            },
            "namespace": {
                "description": "Namespace of the run and of its pods. Defaults to the namespace of the kubeconfig context. \
                                Outside a cluster, it has no effect.",
                "type": "string",
                "pattern": LABEL_PATTERN,
            },
            "labels": {
                "description": "Labels of the run.",
                "type": "object",
                "additionalProperties": {"type": "string", "pattern": LABEL_VALUE_PATTERN, "maxLength": 63},
            },
            "annotations": {
                "description": "Annotations of the run.",
                "type": "object",
                "additionalProperties": {"type": "string"},
            },
        },
    });
    for field in OTHER_METADATA {
        metadata["properties"][field] = json!({"description": "Set by the API server or by controllers."});
    }
    let properties = &mut schema["properties"];
    properties["apiVersion"] = json!({
        "description": "Group and version of the resource.",
        "type": "string",
        "enum": [format!("{GROUP}/{VERSION}")],
    });
    properties["kind"] = json!({"description": "Kind of the resource.", "type": "string", "enum": [KIND]});
    properties["metadata"] = metadata;
    schema["required"] = json!(["apiVersion", "kind", "metadata", "spec"]);
    schema
}

/// JSON Schema (draft 7) of a manifest, for editors and validators. The status is not described, because a manifest has
/// none unless it was exported from a cluster, and then it is ignored. The rules between fields are only in the definition.
pub fn document() -> Value {
    let mut schema = resource();
    schema["properties"]["status"] =
        json!({"description": "Set by the operator; ignored in a file.", "type": "object"});
    let mut schema = from_definition(schema);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema
}

/// Converts an OpenAPI schema to JSON Schema: replaces `x-kubernetes-int-or-string` and `nullable` (a keyword of OpenAPI)
/// with types, removes the other extensions of Kubernetes, such as rules between fields, and forbids fields that the
/// schema does not contain.
pub fn from_definition(mut schema: Value) -> Value {
    convert(&mut schema);
    schema
}

fn convert(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            // The type may become a list of types below.
            let is_object = map.get("type") == Some(&json!("object"));
            let is_int_or_string = map.contains_key("x-kubernetes-int-or-string");
            map.retain(|key, _| !key.starts_with("x-kubernetes-"));
            if is_int_or_string {
                map.insert("type".to_owned(), json!(["integer", "string"]));
            }
            if map.remove("nullable") == Some(Value::Bool(true))
                && let Some(kind) = map.get_mut("type")
            {
                let mut kinds = kind.as_array().cloned().unwrap_or_else(|| vec![kind.clone()]);
                kinds.push(json!("null"));
                *kind = Value::Array(kinds);
            }
            if is_object && map.contains_key("properties") && !map.contains_key("additionalProperties") {
                map.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            map.values_mut().for_each(convert);
        }
        Value::Array(list) => list.iter_mut().for_each(convert),
        _ => {}
    }
}
