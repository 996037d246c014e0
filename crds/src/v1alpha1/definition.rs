//! The definition of the custom resource, without what takes space in it and has no effect.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use super::BenchmarkRun;

/// Returns the definition of the custom resource.
///
/// Compared with the generated definition, the lines of a paragraph in a description are joined, and these are removed:
/// formats of unsigned numbers, which the API server does not know (the limits say the same), and `nullable` in the status,
/// in which the operator writes no null.
pub fn definition() -> CustomResourceDefinition {
    let mut definition = BenchmarkRun::crd();
    for version in &mut definition.spec.versions {
        let schema = version.schema.as_mut();
        let Some(schema) = schema.and_then(|schema| schema.open_api_v3_schema.as_mut()) else {
            continue;
        };
        for_each(schema, &|one| {
            if let Some(description) = &mut one.description {
                *description = joined(description);
            }
            one.format.take_if(|format| format.starts_with("uint"));
        });
        let status = schema.properties.as_mut();
        if let Some(status) = status.and_then(|properties| properties.get_mut("status")) {
            for_each(status, &|one| one.nullable = None);
        }
    }
    definition
}

/// Calls `change` for the schema and all schemas in it.
fn for_each(schema: &mut JSONSchemaProps, change: &impl Fn(&mut JSONSchemaProps)) {
    change(schema);
    let named = schema
        .properties
        .iter_mut()
        .flat_map(|properties| properties.values_mut());
    named.for_each(|property| for_each(property, change));
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => for_each(items, change),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => {
            items.iter_mut().for_each(|items| for_each(items, change));
        }
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        for_each(values, change);
    }
}

/// Joins the lines of each paragraph. Empty lines separate paragraphs.
fn joined(text: &str) -> String {
    let paragraphs = text.split("\n\n");
    let joined: Vec<String> = paragraphs.map(|paragraph| paragraph.replace('\n', " ")).collect();
    joined.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_a_paragraph_are_joined() {
        assert_eq!(joined("One\ntwo.\n\nThree\nfour."), "One two.\n\nThree four.");
    }
}
