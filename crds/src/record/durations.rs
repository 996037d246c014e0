//! Distribution of durations.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// Distribution of durations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Durations {
    /// Distribution of the durations, in nanoseconds.
    pub histogram: Histogram,
    /// Exact minimum, in nanoseconds.
    pub min_nanos: u64,
    /// Exact maximum, in nanoseconds.
    pub max_nanos: u64,
}
