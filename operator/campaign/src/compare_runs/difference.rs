//! A difference between two runs. Performs no I/O.

use serde::Serialize;

/// A property that must be the same in comparable runs but differs between two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Name of the property.
    pub property: String,
    /// Value in the first run.
    pub first: String,
    /// Value in the second run.
    pub second: String,
}

/// Joins values with commas.
pub(super) fn join(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(", ")
}
