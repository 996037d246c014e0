//! Adjustments of generated schemas.

/// Removes the description of an enumeration type from its schema.
///
/// In the resource definition, kube replaces the description of an optional field with the description of its type. Without
/// the latter, the description of the field remains.
pub(crate) fn remove_description(schema: &mut schemars::Schema) {
    schema.remove("description");
}
