//! Adjustments of generated schemas.

/// Removes the description of an enumeration type from its schema.
///
/// In the resource definition, kube replaces the description of an optional field with that of its type if the type is an
/// enumeration without data. Without the latter, the description of the field remains. The definitions in the schemas of
/// records and assignments also have no description then.
pub(crate) fn remove_description(schema: &mut schemars::Schema) {
    schema.remove("description");
}
