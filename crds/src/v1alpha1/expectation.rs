//! Expected changes of variants.

use serde::{Deserialize, Serialize};

use super::Metric;
use crate::units::Size;

/// Expected change of one metric of a variant relative to the baseline. The expectation must be met at every size in
/// the range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("has(self.decreasePercent) != has(self.increasePercent)").message("exactly one of decreasePercent and increasePercent must be set"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expectation {
    /// Name of the variant.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 40)))]
    pub variant: String,
    /// Name of the scenario.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 40)))]
    pub scenario: String,
    /// Sizes the expectation applies to. Defaults to all sizes of the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizeRange>,
    /// Metric that is expected to change.
    pub metric: Metric,
    /// Expected decrease of the metric. Exactly one of decreasePercent and increasePercent must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decrease_percent: Option<Change>,
    /// Expected increase of the metric. Exactly one of decreasePercent and increasePercent must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub increase_percent: Option<Change>,
}

/// Range of message or transfer sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SizeRange {
    /// Lower bound of the range, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Size>,
    /// Upper bound of the range, exclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Size>,
}

impl SizeRange {
    /// Whether `size` lies in the range.
    pub fn contains(self, size: Size) -> bool {
        self.at_least.is_none_or(|at_least| size >= at_least) && self.below.is_none_or(|below| size < below)
    }
}

/// Expected change, as a percentage of the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("!has(self.max) || self.max >= self.min").message("max must not be less than min").field_path(".max"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Change {
    /// Smallest change that meets the expectation, in percent. The whole confidence interval must be at or above this
    /// value. Defaults to 0, which means that any change of at least sampling.marginPercent meets the expectation.
    #[serde(default)]
    #[cfg_attr(feature = "crd", schemars(range(max = 10_000)))]
    pub min: u32,
    /// Largest expected change, in percent. A larger change also meets the expectation, but is noted in the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 10_000)))]
    pub max: Option<u32>,
}
