//! Adjustments of generated schemas.

/// Removes the description of an enumeration type from its schema.
///
/// In the resource definition, kube replaces the description of an optional field with that of its type if the type is
/// an enumeration without data. If the type has no description, the description of the field remains. A side effect is
/// that the type also has no description in the schemas of records and assignments.
pub(crate) fn remove_description(schema: &mut schemars::Schema) {
    schema.remove("description");
}
