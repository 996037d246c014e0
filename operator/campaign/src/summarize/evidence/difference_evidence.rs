//! Evidence about a difference between an arm and the baseline.

use crds::v1alpha1::Engagement;
use serde::Serialize;

/// Evidence about one difference between an arm and the baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DifferenceEvidence {
    /// The variable as `NAME=VALUE`, or as `NAME` if the arm does not set it; `library`, `image` or `claims`.
    pub subject: String,
    /// What is known about the difference.
    pub finding: DifferenceFinding,
    /// Whether the difference took effect.
    pub engagement: Engagement,
    /// Reason for this result.
    pub reason: String,
}

/// What is known about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum DifferenceFinding {
    /// A loaded library reads the variable, other files were loaded, or other devices were obtained.
    Known,
    /// It cannot be determined whether the difference has an effect.
    Unassessed,
    /// The effective value of the variable, the loaded files, or the devices, are those of the baseline.
    Unchanged,
    /// The loaded library has no variable with this name.
    Unknown,
    /// The library that reads the variable is not loaded, or does not use the provider or the transports that read it.
    NotLoaded,
}
