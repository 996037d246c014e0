//! What is expected of a variant.

use serde::{Deserialize, Serialize};

use super::Metric;
use crate::units::Size;

/// What is expected of a variant against the baseline. Over several sizes, all must meet it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("has(self.decreasePercent) != has(self.increasePercent)").message("exactly one of decreasePercent and increasePercent"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expectation {
    /// Name of the variant.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 40)))]
    pub variant: String,
    /// Name of the scenario.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 40)))]
    pub scenario: String,
    /// Sizes it holds for; all of the scenario where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizeRange>,
    /// What changes.
    pub metric: Metric,
    /// The metric goes down by so much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decrease_percent: Option<Change>,
    /// The metric goes up by so much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub increase_percent: Option<Change>,
}

/// A range of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SizeRange {
    /// Sizes of at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Size>,
    /// Sizes below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Size>,
}

impl SizeRange {
    /// Whether `size` lies in the range.
    pub fn contains(self, size: Size) -> bool {
        self.at_least.is_none_or(|least| size >= least) && self.below.is_none_or(|below| size < below)
    }
}

/// A change in percent of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("!has(self.max) || self.max >= self.min").message("max must not be below min").field_path(".max"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Change {
    /// At least this much: the whole interval must lie there.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(max = 10_000)))]
    pub min: u32,
    /// Stated upper end; more than this also meets the expectation, and the outcome says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 10_000)))]
    pub max: Option<u32>,
}
